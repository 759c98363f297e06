// What the kernels of this folder share, and the only file that names builtins. `spmv-wgpu` puts it before each kernel,
// between the scalars `p` and the buffers that the parameter table gives it. `#if` keeps lines for a define of the spec
// or a parameter of the kernel, `#each i N` repeats lines for i = 0 .. N-1 with `$i` replaced (N may be a quotient, A/B, of
// which at least one is taken), and `$STEM` is the kernel's name. Defines:
//   VALUE_F16, VALUE_BF16, VALUE_F32, VALUE_F64, VALUE_C32 or VALUE_C64 for the matrix, and VECTOR_F16 and so on for x
//   COMPLEX where those are C32 or C64
//   LANES_SUBGROUP or LANES_WORKGROUP
//   LANES, WIDTH, BUNCHES: T, W and B of the tiling
//   JOINS where groups of a launch see what others wrote: what a lane writes to `carries` before a storageBarrier, others
//   read after one, if they have seen by an atomic that it got that far. WGSL does not promise that; Vulkan does of
//   what is `@coherent`, with the barrier that naga makes of a storageBarrier, whose memory is that of the device

const LANES = $LANESu;
const WIDTH = $WIDTHu;
const BUNCHES = $BUNCHESu;
const TILE = LANES * WIDTH;
const GROUP = LANES * BUNCHES;

// Values are what the matrix holds, vectors what x holds, sums what y holds: at least 32 bits. 16-bit numbers are storage
// only, two to a word, so that no device needs arithmetic in them.
// Complex numbers are pairs: vectors add them, and `times` and what follows it do the rest.
#if VECTOR_F64
alias part = f64;
#else
#if VECTOR_C64
alias part = f64;
#else
alias part = f32;
#end
#end
#if COMPLEX
alias accum = vec2<part>;
const ONE = accum(1.0, 0.0);
fn is_zero(a: accum) -> bool { return a.x == part(0.0) && a.y == part(0.0); }
fn times(a: accum, b: accum) -> accum { return accum(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
#else
alias accum = part;
const ONE = accum(1.0);
fn is_zero(a: accum) -> bool { return a == accum(0.0); }
fn times(a: accum, b: accum) -> accum { return a * b; }
#end
#if scalars

// A quotient is never asked for with a zero.
#if COMPLEX
fn quotient(a: accum, b: accum) -> accum
{
    // By the greater part, as Smith does (1962): squares could overflow.
    if (abs(b.x) >= abs(b.y))
    {
        let ratio = b.y / b.x;
        return accum(a.x + a.y * ratio, a.y - a.x * ratio) / (b.x + b.y * ratio);
    }
    let ratio = b.x / b.y;
    return accum(a.x * ratio + a.y, a.y * ratio - a.x) / (b.x * ratio + b.y);
}
#else
fn quotient(a: accum, b: accum) -> accum { return a / b; }
#end
#end
#if COMPLEX
fn conjugate(a: accum) -> accum { return accum(a.x, -a.y); }
// Whether `a` exceeds `b`, or is no number: complex ones by their real parts.
fn exceeds(a: accum, b: accum) -> bool { return a.x > b.x || a.x != a.x; }
fn modulus(a: accum) -> accum
{
    let most = max(abs(a.x), abs(a.y));
    let least = min(abs(a.x), abs(a.y));
    if (least == part(0.0)) { return accum(most, part(0.0)); }
    let ratio = least / most;
    return accum(most * sqrt(part(1.0) + ratio * ratio), part(0.0));
}
fn root(a: accum) -> accum
{
    // No difference of the two, which rounding may make negative.
    let greater = sqrt((modulus(a).x + abs(a.x)) / part(2.0));
    if (greater == part(0.0)) { return accum(greater, greater); }
    let lesser = abs(a.y) / greater / part(2.0);
    let parts = select(accum(greater, lesser), accum(lesser, greater), a.x < part(0.0));
    return select(parts, conjugate(parts), a.y < part(0.0));
}
#else
fn conjugate(a: accum) -> accum { return a; }
fn exceeds(a: accum, b: accum) -> bool { return a > b || a != a; }
fn modulus(a: accum) -> accum { return abs(a); }
fn root(a: accum) -> accum { return sqrt(a); }
#end
#if x_stride

// Four numbers, of which each is multiplied by one.
#if COMPLEX
alias four = array<accum, 4>;
fn add_four(a: four, b: four) -> four { return four(a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]); }
fn times_four(a: accum, b: four) -> four { return four(times(a, b[0]), times(a, b[1]), times(a, b[2]), times(a, b[3])); }
#else
alias four = vec4<accum>;
fn add_four(a: four, b: four) -> four { return a + b; }
fn times_four(a: accum, b: four) -> four { return a * b; }
#end
#end

#if COMPLEX
alias value_word = accum;
const PACKED = 1u;
fn widen(word: value_word, i: u32) -> accum { return word; }
#end
#if VALUE_F64
alias value_word = f64;
const PACKED = 1u;
fn widen(word: value_word, i: u32) -> accum { return word; }
#end
#if VALUE_F32
alias value_word = f32;
const PACKED = 1u;
fn widen(word: value_word, i: u32) -> accum { return accum(word); }
#end
#if VALUE_F16
alias value_word = u32;
const PACKED = 2u;
fn widen(word: value_word, i: u32) -> accum { return accum(unpack2x16float(word >> (i % 2u * 16u)).x); }
#end
#if VALUE_BF16
alias value_word = u32;
const PACKED = 2u;
fn widen(word: value_word, i: u32) -> accum { return accum(bitcast<f32>(word >> (i % 2u * 16u) << 16u)); }
#end
#if slots

// A word in which slot `to` has the value that entry `at` has in another.
#if COMPLEX
fn with_value(word: value_word, to: u32, other: value_word, at: u32) -> value_word { return other; }
#end
#if VALUE_F64
fn with_value(word: value_word, to: u32, other: value_word, at: u32) -> value_word { return other; }
#end
#if VALUE_F32
fn with_value(word: value_word, to: u32, other: value_word, at: u32) -> value_word { return other; }
#end
#if VALUE_F16
fn with_value(word: value_word, to: u32, other: value_word, at: u32) -> value_word
{
    return insertBits(word, other >> (at % 2u * 16u), to % 2u * 16u, 16u);
}
#end
#if VALUE_BF16
fn with_value(word: value_word, to: u32, other: value_word, at: u32) -> value_word
{
    return insertBits(word, other >> (at % 2u * 16u), to % 2u * 16u, 16u);
}
#end
#end

// Where this invocation stands: in its group, in its bunch, and which group and bunch of the launch that is.
var<private> local_id: u32;
var<private> lane: u32;
#if LANES_SUBGROUP
var<private> invocation: u32;
#end
var<private> bunch_of_group: u32;
var<private> group: u32;
var<private> bunch: u32;

// A bunch is the LANES lanes that walk a tile together. They talk by shuffles where they are a subgroup, or part of one;
// but memory of the group they share by barriers of the whole group, because a subgroup's barrier orders no memory
// of the group. So kernels whose bunches take different turns at barriers have one bunch a group.
#if LANES_SUBGROUP
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) index: u32,
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_size) size: u32,
        @builtin(subgroup_invocation_id) invocation_id: u32)
{
    invocation = invocation_id;
    local_id = subgroup * size + invocation;
#else
@compute @workgroup_size(GROUP)
fn main(@builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_index) index: u32)
{
    local_id = index;
#end
    lane = local_id % LANES;
    bunch_of_group = local_id / LANES;
    // Groups stand in a rectangle, of which the last line may be longer than needed.
    group = group_id.y * p.groups_x + group_id.x;
    bunch = group * BUNCHES + bunch_of_group;
    if (group >= p.n_groups) { return; }
    $STEM();
}

#if LANES_WORKGROUP
// One sum and one count for each lane.
var<workgroup> talk_sums: array<accum, GROUP>;
var<workgroup> talk_counts: array<u32, GROUP>;
#end

// The sum over the bunch, for every lane. All lanes of the group must come here.
fn lane_sum(v: accum) -> accum
{
#if LANES_SUBGROUP
    var sum = v;
    for (var d = LANES / 2u; d > 0u; d /= 2u) { sum += subgroupShuffleXor(sum, d); }
    return sum;
#else
    if (LANES == 1u) { return v; }
    let first = bunch_of_group * LANES;
    talk_sums[local_id] = v;
    var reach = 1u;
    while (reach < LANES) { reach *= 2u; }
    for (var d = reach / 2u; d > 0u; d /= 2u)
    {
        workgroupBarrier();
        if (lane < d && lane + d < LANES) { talk_sums[local_id] += talk_sums[local_id + d]; }
    }
    workgroupBarrier();
    let total = talk_sums[first];
    workgroupBarrier();
    return total;
#end
}

// Where a lane stands in a bunch whose lanes each begin `n` segments and leave the last one open with `sum`
// (or, without a beginning, add `sum` to the one that is open).
struct Scan {
    n_before: u32,     // segments begun in lower lanes
    n_total: u32,      // segments begun in the bunch
    sum_before: accum, // the open segment's sum before this lane
    sum_total: accum,  // the open segment's sum after the last lane
}

// All lanes of the group must come here.
fn lane_scan(own_n: u32, own_sum: accum) -> Scan
{
    var n = own_n;
    var sum = own_sum;
    var scan: Scan;
#if LANES_SUBGROUP
    for (var d = 1u; d < LANES; d *= 2u)
    {
        let other_n = subgroupShuffleUp(n, d);
        let other_sum = subgroupShuffleUp(sum, d);
        if (lane >= d)
        {
            if (n == 0u) { sum = other_sum + sum; }
            n += other_n;
        }
    }
    let before = subgroupShuffleUp(sum, 1u);
    let last = invocation - lane + LANES - 1u;
    scan.n_total = subgroupShuffle(n, last);
    scan.sum_total = subgroupShuffle(sum, last);
#else
    let first = bunch_of_group * LANES;
    talk_counts[local_id] = n;
    talk_sums[local_id] = sum;
    workgroupBarrier();
    for (var d = 1u; d < LANES; d *= 2u)
    {
        let at = select(local_id, local_id - d, lane >= d);
        let other_n = talk_counts[at];
        let other_sum = talk_sums[at];
        workgroupBarrier();
        if (lane >= d)
        {
            if (n == 0u) { sum = other_sum + sum; }
            n += other_n;
            talk_counts[local_id] = n;
            talk_sums[local_id] = sum;
        }
        workgroupBarrier();
    }
    let before = talk_sums[select(local_id, local_id - 1u, lane > 0u)];
    scan.n_total = talk_counts[first + LANES - 1u];
    scan.sum_total = talk_sums[first + LANES - 1u];
    workgroupBarrier();
#end
    scan.n_before = n - own_n;
    scan.sum_before = select(accum(0.0), before, lane > 0u);
    return scan;
}

// Index of an entry's product in local memory. A word of padding for every 32: lanes that read whole rows of equal
// lengths then read from different banks.
fn held_at(entry: u32) -> u32 { return entry + entry / 32u; }

// As in BLAS, a factor of zero does not read what it scales: a NaN in there must not spread.
fn scaled(alpha: accum, sum: accum) -> accum { return select(times(alpha, sum), accum(0.0), is_zero(alpha)); }

#if columns
#if y
fn store(row: u32, alpha: accum, sum: accum, beta: accum)
{
    if (is_zero(beta)) { y[row] = scaled(alpha, sum); } else { y[row] = scaled(alpha, sum) + times(beta, y[row]); }
}
#end
#end

#if epilogue
// What becomes of a row's sum: alpha*sum + beta times what stands in y, or in z (EPILOGUE_Z), no less than lo and no more than hi
// (EPILOGUE_CLAMP).
const EPILOGUE_Z = 1u;
const EPILOGUE_CLAMP = 2u;
// What is no number stays so; complex ones have no order.
#if COMPLEX
fn clamped(v: accum) -> accum { return v; }
#else
fn clamped(v: accum) -> accum
{
    if ((p.epilogue & EPILOGUE_CLAMP) == 0u) { return v; }
    return select(select(v, p.hi, v > p.hi), p.lo, v < p.lo);
}
#end
#end
#if z
#if epilogue
// `is_whole`: whether nothing will be added to the row.
fn store_row(row: u32, sum: accum, is_whole: bool)
{
    var now = scaled(p.alpha, sum);
    if (!is_zero(p.beta))
    {
        if ((p.epilogue & EPILOGUE_Z) != 0u) { now += times(p.beta, z[row]); } else { now += times(p.beta, y[row]); }
    }
    if (is_whole) { now = clamped(now); }
    y[row] = now;
}
fn finish_row(row: u32, sum: accum) { store_row(row, sum, true); }
#end
#end

#if tile_rows
// The greatest row from `first` on, up to `most`, that starts at or before `entry`; row `first` must.
fn locate(first: u32, most: u32, entry: u32) -> u32
{
    var low = first;
    var high = most;
    while (low < high)
    {
        let mid = low + (high - low + 1u) / 2u;
        if (row_ptr[mid] <= entry) { low = mid; } else { high = mid - 1u; }
    }
    return low;
}
#end
#if alpha_num

// A quotient with a zero is zero: what has converged stays as it is.
fn factor(by: accum, num: accum, den: accum) -> accum
{
    if (is_zero(by) || is_zero(num) || is_zero(den)) { return accum(0.0); }
    return times(by, quotient(num, den));
}
#end
#if partials

// Reductions of vectors: sums, and greatest numbers, of which a NaN is one where the device knows NaN.
const OP_SUM = 0u;
const OP_GREATEST = 1u;
fn joined_by(op: u32, a: accum, b: accum) -> accum
{
    if (op == OP_SUM) { return a + b; }
    return select(a, b, exceeds(b, a));
}

var<workgroup> own_totals: array<accum, GROUP>;
// What all lanes of the group have together; all lanes must come here once.
fn group_total(v: accum, op: u32) -> accum
{
    own_totals[local_id] = v;
    var reach = 1u;
    while (reach < GROUP) { reach *= 2u; }
    for (var d = reach / 2u; d > 0u; d /= 2u)
    {
        workgroupBarrier();
        if (local_id < d && local_id + d < GROUP)
        {
            own_totals[local_id] = joined_by(op, own_totals[local_id], own_totals[local_id + d]);
        }
    }
    workgroupBarrier();
    return own_totals[0];
}
#end
