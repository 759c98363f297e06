#!/bin/sh
# Writes lib64/libcuda.so: every function that cust_raw declares, answering CUDA_ERROR_NO_DEVICE. With it, programs that
# use cust link on a machine without CUDA; where they run, they load NVIDIA's libcuda.so.1. Needs a C compiler.
set -eu
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
manifest=$(cargo metadata --format-version 1 --filter-platform "$host" --features spmv-cuda/cust |
    grep -o '"[^"]*/cust_raw-[^"/]*/Cargo.toml"' | head -n 1 | tr -d '"')
[ -n "$manifest" ] || { echo "no source of cust_raw" >&2; exit 1; }
sed -n 's/^ *pub fn \(cu[A-Za-z0-9_]*\).*/int \1(void) { return 100; }/p' "$(dirname "$manifest")/src/cuda.rs" |
    ${CC:-cc} -shared -fPIC -Wno-builtin-declaration-mismatch -Wl,-soname,libcuda.so.1 \
        -o cuda-stub/lib64/libcuda.so -x c -
ln -sf libcuda.so cuda-stub/lib64/libcuda.so.1
