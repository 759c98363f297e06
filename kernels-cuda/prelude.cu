// What the kernels of this folder share, and the only file that names a vendor's intrinsics. It goes before each
// kernel; the compiler is given VALUE_F16, VALUE_BF16, VALUE_F32, VALUE_F64, VALUE_C32 or VALUE_C64 for the matrix, and VECTOR_F16 and so on for x. T
// and W of the tiling are the template parameters LANES and WIDTH; B is what the group's size makes it. The line `built:` of a
// kernel names each T, and each W where the code depends on it; all are built for each type of values, and those that multiply values
// by x for each pair with a wider x. Texts are packed in this order, and unpacked with those of the kernel that stand before them:
// values: f32 f64 c32 c64 f16 bf16
// mixed:  f32_f64 f16_f32 bf16_f32 f16_f64 bf16_f64

typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long long ulong;

#define TILE (LANES * WIDTH)
// Devices hold 1024 threads a block; registers are left for half of that, or for less where a kernel says so.
#define KERNEL_UP_TO(lanes) template <uint LANES, uint WIDTH> __global__ void __launch_bounds__(lanes)
#define KERNEL KERNEL_UP_TO(512)
// Groups of `lanes` lanes, of which a multiprocessor shall hold `groups` at a time.
#define KERNEL_OF(lanes, groups)                                                                              \
    template <uint LANES, uint WIDTH> __global__ void __launch_bounds__(lanes, groups)
#define DEVICE static __device__ __forceinline__

// Values are what the matrix holds, vectors what x holds, sums what y holds: at least 32 bits. 16-bit numbers are storage only,
// as on devices without arithmetic in them.
#if defined(VECTOR_F64) || defined(VECTOR_C64)
typedef double part_t;
#else
typedef float part_t;
#endif
#if defined(VECTOR_C32) || defined(VECTOR_C64)
#define COMPLEX
// Two parts, which one load reads.
struct __align__(2 * sizeof(part_t)) accum_t
{
    part_t x;
    part_t y;
    accum_t() = default;
    __device__ __forceinline__ accum_t(part_t re) : x(re), y(0) {}
    __device__ __forceinline__ accum_t(part_t re, part_t im) : x(re), y(im) {}
};
DEVICE bool operator==(accum_t a, accum_t b) { return a.x == b.x && a.y == b.y; }
DEVICE bool operator!=(accum_t a, accum_t b) { return !(a == b); }
DEVICE accum_t operator-(accum_t a) { return accum_t(-a.x, -a.y); }
DEVICE accum_t operator+(accum_t a, accum_t b) { return accum_t(a.x + b.x, a.y + b.y); }
DEVICE accum_t operator-(accum_t a, accum_t b) { return accum_t(a.x - b.x, a.y - b.y); }
DEVICE accum_t operator*(accum_t a, accum_t b) { return accum_t(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
// By the greater part, as Smith does (1962): squares could overflow.
DEVICE accum_t operator/(accum_t a, accum_t b)
{
    const bool by_x = fabs(b.x) >= fabs(b.y);
    const part_t ratio = by_x ? b.y / b.x : b.x / b.y;
    const part_t den = by_x ? b.x + b.y * ratio : b.x * ratio + b.y;
    return by_x ? accum_t((a.x + a.y * ratio) / den, (a.y - a.x * ratio) / den)
                : accum_t((a.x * ratio + a.y) / den, (a.y * ratio - a.x) / den);
}
DEVICE void operator+=(accum_t &a, accum_t b) { a = a + b; }
DEVICE accum_t conjugate(accum_t a) { return accum_t(a.x, -a.y); }
// Whether `a` exceeds `b`, or is no number: complex ones by their real parts.
DEVICE bool exceeds(accum_t a, accum_t b) { return a.x > b.x || a.x != a.x; }
DEVICE accum_t modulus(accum_t a) { return hypot(a.x, a.y); }
DEVICE accum_t root(accum_t a)
{
    // No difference of the two, which rounding may make negative.
    const part_t greater = sqrt((hypot(a.x, a.y) + fabs(a.x)) / 2);
    const part_t lesser = greater > 0 ? fabs(a.y) / greater / 2 : 0;
    return a.x < 0 ? accum_t(lesser, copysign(greater, a.y)) : accum_t(greater, copysign(lesser, a.y));
}
#else
typedef part_t accum_t;
DEVICE accum_t conjugate(accum_t a) { return a; }
DEVICE bool exceeds(accum_t a, accum_t b) { return a > b || a != a; }
DEVICE accum_t modulus(accum_t a) { return fabs(a); }
DEVICE accum_t root(accum_t a) { return sqrt(a); }
#endif

#if defined(COMPLEX)
typedef accum_t vector_t;
#elif defined(VECTOR_F64)
typedef double vector_t;
#elif defined(VECTOR_F32)
typedef float vector_t;
#else
typedef ushort vector_t;
#endif

#if defined(COMPLEX)
typedef accum_t value_t;
#elif defined(VALUE_F64)
typedef double value_t;
#elif defined(VALUE_F32)
typedef float value_t;
#else
typedef ushort value_t;
#endif

#if defined(COMPLEX) || defined(VECTOR_F64)
DEVICE accum_t widen(accum_t v) { return v; }
#endif
#if !defined(COMPLEX)
DEVICE accum_t widen(float v) { return v; }
#endif
#if defined(VALUE_F16)
DEVICE accum_t widen(ushort v)
{
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(v));
    return r;
}
#elif defined(VALUE_BF16)
DEVICE accum_t widen(ushort v) { return __uint_as_float((uint)v << 16); }
#endif

#if defined(COMPLEX)
// What the intrinsics do with numbers, done with pairs of them.
#if defined(VECTOR_C64)
typedef double2 pair_t;
#else
typedef float2 pair_t;
#endif
DEVICE accum_t of_pair(pair_t v) { return accum_t(v.x, v.y); }
DEVICE accum_t __ldg(const accum_t *p) { return of_pair(__ldg((const pair_t *)p)); }
DEVICE accum_t __ldcg(const accum_t *p) { return of_pair(__ldcg((const pair_t *)p)); }
#endif

// What whole warps read in order and once keeps out of the first cache, which x needs.
// `policy` says whether the cache of all multiprocessors shall keep it: by itself such a load leaves it first.
typedef ulong policy_t;
#if __CUDA_ARCH__ >= 900
DEVICE policy_t policy_of(bool keeps)
{
    policy_t kept, left;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(kept));
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(left));
    return keeps ? kept : left;
}
#define STREAM(type, letter, bits)                                                                            \
    DEVICE type stream(const type *p)                                                                         \
    {                                                                                                         \
        type r;                                                                                               \
        asm("ld.global.nc.L1::no_allocate." bits " %0, [%1];" : letter(r) : "l"(p));                          \
        return r;                                                                                             \
    }                                                                                                         \
    DEVICE type stream(const type *p, policy_t policy)                                                        \
    {                                                                                                         \
        type r;                                                                                               \
        asm("ld.global.nc.L1::no_allocate.L2::cache_hint." bits " %0, [%1], %2;"                              \
            : letter(r)                                                                                       \
            : "l"(p), "l"(policy));                                                                           \
        return r;                                                                                             \
    }
STREAM(ushort, "=h", "u16")
STREAM(uint, "=r", "u32")
STREAM(float, "=f", "f32")
STREAM(double, "=d", "f64")
#if defined(COMPLEX)
#if defined(VECTOR_C64)
#define PAIR_BITS ".v2.f64"
#define PAIR_OF(r) "=d"((r).x), "=d"((r).y)
#else
#define PAIR_BITS ".v2.f32"
#define PAIR_OF(r) "=f"((r).x), "=f"((r).y)
#endif
DEVICE accum_t stream(const accum_t *p)
{
    accum_t r;
    asm("ld.global.nc.L1::no_allocate" PAIR_BITS " {%0, %1}, [%2];" : PAIR_OF(r) : "l"(p));
    return r;
}
DEVICE accum_t stream(const accum_t *p, policy_t policy)
{
    accum_t r;
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint" PAIR_BITS " {%0, %1}, [%2], %3;"
        : PAIR_OF(r)
        : "l"(p), "l"(policy));
    return r;
}
#endif
#else
DEVICE policy_t policy_of(bool) { return 0; }
template <class V> DEVICE V stream(const V *p) { return __ldg(p); }
template <class V> DEVICE V stream(const V *p, policy_t) { return __ldg(p); }
#endif

// A launch may start while the one before it on the stream still runs (programmatic dependent launch), if its kernel
// says `after_others`. Until then it reads nothing that launches write. Afterwards it reads that by pointers without
// __restrict__, or by `load_vector`: what is const and __restrict__ the compiler takes for constant as long as the kernel
// runs, and may read before. The launch after it may start from there on too, but no earlier: groups of a
// third launch on the device would go wherever the first one's ended, and some multiprocessors had more than others.
#if __CUDA_ARCH__ >= 900
DEVICE void after_others()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#define LOAD_VECTOR(type, letter, bits)                                                                       \
    DEVICE type load_written(const type *p)                                                                   \
    {                                                                                                         \
        type r;                                                                                               \
        asm volatile("ld.global." bits " %0, [%1];" : letter(r) : "l"(p));                                    \
        return r;                                                                                             \
    }
LOAD_VECTOR(ushort, "=h", "u16")
LOAD_VECTOR(float, "=f", "f32")
LOAD_VECTOR(double, "=d", "f64")
#if defined(COMPLEX)
DEVICE accum_t load_written(const accum_t *p)
{
    accum_t r;
    asm volatile("ld.global" PAIR_BITS " {%0, %1}, [%2];" : PAIR_OF(r) : "l"(p));
    return r;
}
#endif
#else
DEVICE void after_others() {}
template <class V> DEVICE V load_written(const V *p) { return __ldg(p); }
#endif
DEVICE accum_t load_vector(const vector_t *p, uint i) { return widen(load_written(p + i)); }

// Elements of the matrix, and of x.
DEVICE uint stream_index(const uint *p, uint i) { return stream(p + i); }
DEVICE accum_t stream_value(const value_t *p, uint i) { return widen(stream(p + i)); }
DEVICE uint stream_index(const uint *p, uint i, policy_t policy) { return stream(p + i, policy); }
DEVICE accum_t stream_value(const value_t *p, uint i, policy_t policy) { return widen(stream(p + i, policy)); }
DEVICE uint load_index(const uint *p, uint i) { return __ldg(p + i); }
template <class V> DEVICE accum_t load_value(const V *p, uint i) { return widen(__ldg(p + i)); }

// A value that is kept until x is there. Next to a wider x it is widened when it is used: before, all of them would be waited for.
#if defined(COMPLEX) || defined(VALUE_F64) || defined(VALUE_F32) && defined(VECTOR_F32) || defined(VECTOR_F16) || defined(VECTOR_BF16)
typedef accum_t kept_t;
DEVICE kept_t kept(value_t v) { return widen(v); }
#else
typedef value_t kept_t;
DEVICE kept_t kept(value_t v) { return v; }
#endif

// Entries that follow each other, as one lane loads them: columns in 16 bytes, values in 8 to 64. Values are widened when
// they are used, so that no load waits for another's value.
#define CHUNK 4
struct chunk_t
{
    uint cols[CHUNK];
    value_t vals[CHUNK];
};

DEVICE void load_four(const uint *p, uint *to)
{
    const uint4 four = __ldg((const uint4 *)p);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}
DEVICE void load_four(const ushort *p, ushort *to)
{
    const ushort4 four = __ldg((const ushort4 *)p);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}
DEVICE void load_four(const float *p, float *to)
{
    const float4 four = __ldg((const float4 *)p);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}
DEVICE void load_four(const double *p, double *to)
{
    const double2 low = __ldg((const double2 *)p);
    const double2 high = __ldg((const double2 *)p + 1);
    to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
}
#if defined(COMPLEX)
DEVICE void load_four(const accum_t *p, accum_t *to)
{
    // Of 32 bits two at a time: they are aligned as two are.
    load_four((const part_t *)p, (part_t *)to);
    load_four((const part_t *)p + 4, (part_t *)to + 4);
}
#endif

// Four numbers in the order of memory, which begin at a multiple of 16 bytes, or of 8 where they have two each.
#define FOUR 4
DEVICE void store_four(ushort *to, const ushort *own) { *(ushort4 *)to = make_ushort4(own[0], own[1], own[2], own[3]); }
DEVICE void store_four(float *to, const float *own) { *(float4 *)to = make_float4(own[0], own[1], own[2], own[3]); }
DEVICE void store_four(double *to, const double *own)
{
    *(double2 *)to = make_double2(own[0], own[1]);
    *((double2 *)to + 1) = make_double2(own[2], own[3]);
}
#if defined(COMPLEX)
DEVICE void store_four(accum_t *to, const accum_t *own)
{
    store_four((part_t *)to, (const part_t *)own);
    store_four((part_t *)to + 4, (const part_t *)own + 4);
}
#endif
DEVICE bool is_aligned(const void *p) { return (ulong)p % 16 == 0; }

// The chunk from entry `at` on, a multiple of CHUNK. The arrays begin at multiples of 16 bytes and hold all of it.
DEVICE chunk_t load_chunk(const uint *cols, const value_t *vals, uint at)
{
    chunk_t chunk;
    load_four(cols + at, chunk.cols);
    load_four(vals + at, chunk.vals);
    return chunk;
}

// What there is of a chunk in which the arrays end: nothing from `stop` on is read.
DEVICE chunk_t load_last_chunk(const uint *cols, const value_t *vals, uint at, uint stop)
{
    chunk_t chunk = {};
#pragma unroll
    for (uint k = 0; k < CHUNK - 1; k++)
    {
        if (at + k < stop)
        {
            chunk.cols[k] = __ldg(cols + at + k);
            chunk.vals[k] = __ldg(vals + at + k);
        }
    }
    return chunk;
}

// A bunch is the LANES lanes, a warp or a power of two less, that walk a tile together. Nothing is assumed of lanes
// that have not met at a barrier or a shuffle; where bunches are parts of a warp, all of the warp must meet there.
#define WARP 0xffffffffu
#define WARP_LANES 32
template <uint LANES> DEVICE uint lane_id() { return threadIdx.x % LANES; }
template <uint LANES> DEVICE uint bunch_id() { return threadIdx.x / LANES; }
template <uint LANES> DEVICE uint bunches() { return blockDim.x / LANES; }
DEVICE void bunch_barrier() { __syncwarp(WARP); }
DEVICE void group_barrier() { __syncthreads(); }
// What another lane of the same `lanes` has: the lane of a number, that so many before, or that whose number differs in some bits.
template <class V> DEVICE V shuffled(V v, uint from, uint lanes) { return __shfl_sync(WARP, v, from, lanes); }
template <class V> DEVICE V shuffled_up(V v, uint by, uint lanes) { return __shfl_up_sync(WARP, v, by, lanes); }
template <class V> DEVICE V shuffled_xor(V v, uint bits, uint lanes) { return __shfl_xor_sync(WARP, v, bits, lanes); }
#if defined(COMPLEX)
DEVICE accum_t shuffled(accum_t v, uint from, uint lanes)
{
    return accum_t(shuffled(v.x, from, lanes), shuffled(v.y, from, lanes));
}
DEVICE accum_t shuffled_up(accum_t v, uint by, uint lanes)
{
    return accum_t(shuffled_up(v.x, by, lanes), shuffled_up(v.y, by, lanes));
}
DEVICE accum_t shuffled_xor(accum_t v, uint bits, uint lanes)
{
    return accum_t(shuffled_xor(v.x, bits, lanes), shuffled_xor(v.y, bits, lanes));
}
#endif
template <uint LANES, class V> DEVICE V lane_read(V v, uint from) { return shuffled(v, from, LANES); }
template <uint LANES, class V> DEVICE V lane_shift_up(V v, uint by) { return shuffled_up(v, by, LANES); }

// The lanes of a warp for which `v` holds, as bits. All lanes of the warp must come here.
DEVICE uint lane_vote(bool v) { return __ballot_sync(WARP, v); }
// The lowest bit that is set; one is.
DEVICE uint lowest_bit(uint bits) { return __ffs(bits) - 1; }

DEVICE uint least(uint a, uint b) { return a < b ? a : b; }
// Sets a bit of a word that other lanes may set bits of at the same time.
DEVICE void mark_bit(uint *word, uint bit) { atomicOr(word, 1u << bit); }
DEVICE uint atomic_inc(uint *count) { return atomicAdd(count, 1u); }

// Counts an arrival; the lane that arrives last sees what the others wrote before theirs, by `joined`. The number of
// those before it.
DEVICE uint join(uint *arrivals)
{
    __threadfence();
    const uint n = atomicAdd(arrivals, 1u);
    __threadfence();
    return n;
}
// Lane 0 joined, and a group barrier came after.
DEVICE accum_t joined(const accum_t *p) { return __ldcg(p); }

// Memory of the group; the host gives as much as `KernelSpec::local_bytes` says.
extern __shared__ __align__(16) ulong local_memory[];

// The sum over the bunch, for every lane.
template <uint LANES> DEVICE accum_t lane_sum(accum_t v)
{
#pragma unroll
    for (uint d = LANES / 2; d > 0; d /= 2) v += shuffled_xor(v, d, LANES);
    return v;
}

// The sum over each `n` lanes that follow each other, a power of two up to a warp, for all of them. All lanes of the
// warp must come here with the same `n`.
DEVICE accum_t part_sum(accum_t v, uint n)
{
    for (uint d = n / 2; d > 0; d /= 2) v += shuffled_xor(v, d, WARP_LANES);
    return v;
}

// The sum with the lane whose number differs in the bit `d`, for both. All lanes of the warp must come here with the same `d`.
DEVICE accum_t pair_sum(accum_t v, uint d) { return v + shuffled_xor(v, d, WARP_LANES); }

// The sum over each `n` lanes, for all of them, where each LANES of these have theirs already; powers of two up to a warp.
// All lanes of the warp must come here with the same `n`.
template <uint LANES> DEVICE accum_t wider_sum(accum_t v, uint n)
{
    for (uint d = LANES; d < n; d *= 2) v += shuffled_xor(v, d, WARP_LANES);
    return v;
}

// Where a lane stands in a bunch whose lanes each begin `n` segments and leave the last one open with `sum`
// (or, without a beginning, add `sum` to the one that is open).
struct scan_t
{
    uint n_before;      // segments begun in lower lanes
    uint n_total;       // segments begun in the bunch
    accum_t sum_before; // the open segment's sum before this lane
    accum_t sum_total;  // the open segment's sum after the last lane
};

template <uint LANES> DEVICE scan_t lane_scan(uint n, accum_t sum)
{
    const uint lane = lane_id<LANES>();
    const uint own = n;
#pragma unroll
    for (uint d = 1; d < LANES; d *= 2)
    {
        const uint other_n = lane_shift_up<LANES>(n, d);
        const accum_t other_sum = lane_shift_up<LANES>(sum, d);
        if (lane >= d)
        {
            if (n == 0) sum = other_sum + sum;
            n += other_n;
        }
    }
    const accum_t before = lane_shift_up<LANES>(sum, 1);
    scan_t scan;
    scan.n_before = n - own;
    scan.n_total = lane_read<LANES>(n, LANES - 1);
    scan.sum_before = lane > 0 ? before : 0;
    scan.sum_total = lane_read<LANES>(sum, LANES - 1);
    return scan;
}

// As in BLAS, a factor of zero does not read what it scales: a NaN in there must not spread.
DEVICE accum_t scaled(accum_t alpha, accum_t sum) { return alpha == 0 ? accum_t(0) : alpha * sum; }

DEVICE void store(accum_t *y, accum_t alpha, accum_t sum, accum_t beta)
{
    *y = beta == 0 ? scaled(alpha, sum) : scaled(alpha, sum) + beta * *y;
}

// What becomes of a row's sum: alpha*sum + beta times what stands in y, or in z (EPILOGUE_Z), no less than lo and no more than hi
// (EPILOGUE_CLAMP).
#define EPILOGUE_Z 1
#define EPILOGUE_CLAMP 2
struct finish_t
{
    accum_t alpha;
    accum_t beta;
    accum_t lo;
    accum_t hi;
    bool clamps;
    const accum_t *old;
};

DEVICE finish_t finish_of(uint epilogue, accum_t alpha, accum_t beta, accum_t lo, accum_t hi, const accum_t *z,
                          const accum_t *y)
{
    return {alpha, beta, lo, hi, (epilogue & EPILOGUE_CLAMP) != 0, epilogue & EPILOGUE_Z ? z : y};
}

// What is no number stays so; complex ones have no order.
DEVICE accum_t clamped(accum_t v, accum_t lo, accum_t hi)
{
#if defined(COMPLEX)
    return v;
#else
    return v < lo ? lo : v > hi ? hi : v;
#endif
}

// `is_whole`: whether nothing will be added to the row.
DEVICE void finish_row(accum_t *y, uint at, accum_t sum, const finish_t &finish, bool is_whole = true)
{
    accum_t now = scaled(finish.alpha, sum);
    if (finish.beta != 0) now = now + finish.beta * finish.old[at];
    if (finish.clamps && is_whole) now = clamped(now, finish.lo, finish.hi);
    y[at] = now;
}

// Index of an entry's product in local memory. A word of padding for every 32: lanes that read whole rows of equal
// lengths then read from different banks.
#define HELD_AT(entry) ((entry) + (entry) / 32)

// The greatest row from `low` on, up to `high`, that starts at or before `entry`; row `low` must.
DEVICE uint locate(const uint *row_ptr, uint low, uint high, uint entry)
{
    while (low < high)
    {
        const uint mid = low + (high - low + 1) / 2;
        if (__ldg(row_ptr + mid) <= entry)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

// Reductions of vectors: sums, and greatest numbers, of which a NaN is one.
#define OP_SUM 0
#define OP_GREATEST 1
DEVICE accum_t joined_by(uint op, accum_t a, accum_t b)
{
    if (op == OP_SUM) return a + b;
    return exceeds(b, a) ? b : a;
}

// A quotient with a zero is zero: what has converged stays as it is.
DEVICE accum_t factor(accum_t by, accum_t num, accum_t den)
{
    return by == 0 || num == 0 || den == 0 ? accum_t(0) : by * (num / den);
}

// What all lanes of the group have together. `own` holds a number of each; all lanes must come here once.
DEVICE accum_t group_total(accum_t *own, accum_t v, uint op)
{
    const uint lane = threadIdx.x;
    own[lane] = v;
    uint reach = 1;
    while (reach < blockDim.x) reach *= 2;
    for (uint d = reach / 2; d > 0; d /= 2)
    {
        group_barrier();
        if (lane < d && lane + d < blockDim.x) own[lane] = joined_by(op, own[lane], own[lane + d]);
    }
    group_barrier();
    return own[0];
}
