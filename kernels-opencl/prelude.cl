// What the kernels of this folder share, and the only file that names a vendor. The host puts it before each
// kernel and sets with -D:
//   VALUE_F16, VALUE_BF16, VALUE_F32, VALUE_F64, VALUE_C32 or VALUE_C64 for the matrix, and VECTOR_F16 and so on for x
//   COMPLEX where those are C32 or C64
//   LANES_SUBGROUP (and SUBGROUP_NV, SUBGROUP_INTEL or SUBGROUP_KHR) or LANES_WORKGROUP
//   LANES, WIDTH, BUNCHES: T, W and B of the tiling
//   JOINS_NV where groups can join (NVIDIA)

#define TILE (LANES * WIDTH)
#define KERNEL __kernel __attribute__((reqd_work_group_size(LANES * BUNCHES, 1, 1)))
#define GLOBAL __global
#define LOCAL __local

// Values are what the matrix holds, vectors what x holds, sums what y holds: at least 32 bits. 16-bit numbers are storage
// only, so that no device needs arithmetic in them.
// Complex numbers are pairs: vectors add them, and `times` and what follows it do the rest.
#if defined(VECTOR_F64) || defined(VECTOR_C64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if defined(VECTOR_C64)
typedef double part_t;
typedef double2 accum_t;
typedef double8 accum4_t;
#elif defined(VECTOR_C32)
typedef float part_t;
typedef float2 accum_t;
typedef float8 accum4_t;
#elif defined(VECTOR_F64)
typedef double accum_t;
typedef double4 accum4_t;
#else
typedef float accum_t;
typedef float4 accum4_t;
#endif
#define ZERO ((accum_t)0)

// Whether `a` exceeds `b`, or is no number: complex ones by their real parts. A quotient is never asked for with a zero. Of four
// numbers each is multiplied by one.
#if defined(COMPLEX)
#define ONE ((accum_t)(1, 0))
#define is_zero(a) ((a).x == 0 && (a).y == 0)
#define conjugate(a) ((accum_t)((a).x, -(a).y))
#define exceeds(a, b) ((a).x > (b).x || (a).x != (a).x)
static accum_t times(accum_t a, accum_t b) { return (accum_t)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
static accum_t quotient(accum_t a, accum_t b)
{
    // By the greater part, as Smith does (1962): squares could overflow.
    const bool by_x = fabs(b.x) >= fabs(b.y);
    const part_t ratio = by_x ? b.y / b.x : b.x / b.y;
    const part_t den = by_x ? b.x + b.y * ratio : b.x * ratio + b.y;
    const accum_t num = by_x ? (accum_t)(a.x + a.y * ratio, a.y - a.x * ratio)
                             : (accum_t)(a.x * ratio + a.y, a.y * ratio - a.x);
    return (accum_t)(num.x / den, num.y / den);
}
static accum_t modulus(accum_t a) { return (accum_t)(hypot(a.x, a.y), 0); }
static accum_t root(accum_t a)
{
    // No difference of the two, which rounding may make negative.
    const part_t greater = sqrt((hypot(a.x, a.y) + fabs(a.x)) / 2);
    const part_t lesser = greater > 0 ? fabs(a.y) / greater / 2 : 0;
    return a.x < 0 ? (accum_t)(lesser, copysign(greater, a.y)) : (accum_t)(greater, copysign(lesser, a.y));
}
static accum4_t times_four(accum_t a, accum4_t b)
{
    return (accum4_t)(times(a, b.s01), times(a, b.s23), times(a, b.s45), times(a, b.s67));
}
#define split_four(four, to) vstore8((four), 0, (part_t *)(to))
#else
#define ONE ((accum_t)1)
#define is_zero(a) ((a) == 0)
#define conjugate(a) (a)
#define exceeds(a, b) ((a) > (b) || (a) != (a))
#define times(a, b) ((a) * (b))
#define quotient(a, b) ((a) / (b))
#define modulus(a) fabs(a)
#define root(a) sqrt(a)
#define times_four(a, b) ((accum4_t)(a) * (b))
#define split_four(four, to) vstore4((four), 0, (to))
#endif

#if defined(VALUE_C64) || defined(VALUE_C32)
typedef accum_t value_t;
#define load_value(p, i) ((p)[i])
#elif defined(VALUE_F64)
typedef double value_t;
#define load_value(p, i) ((p)[i])
#elif defined(VALUE_F32)
typedef float value_t;
#define load_value(p, i) ((p)[i])
#elif defined(VALUE_F16)
typedef half value_t;
#define load_value(p, i) vload_half((i), (p))
#elif defined(VALUE_BF16)
typedef ushort value_t;
#define load_value(p, i) as_float((uint)(p)[i] << 16)
#endif

// Numbers that are copied are `raw_t`, because few devices assign a half. Four of a vector stand in the order of memory.
#define FOUR 4
#if defined(COMPLEX)
typedef accum_t vector_t;
typedef accum_t raw_t;
#define load_vector(p, i) ((p)[i])
#define load_four(p, i) vload8(0, (GLOBAL const part_t *)((p) + (i)))
#elif defined(VECTOR_F64)
typedef double vector_t;
typedef double raw_t;
#define load_vector(p, i) ((p)[i])
#define load_four(p, i) vload4(0, (p) + (i))
#elif defined(VECTOR_F32)
typedef float vector_t;
typedef float raw_t;
#define load_vector(p, i) ((p)[i])
#define load_four(p, i) vload4(0, (p) + (i))
#elif defined(VECTOR_F16)
typedef half vector_t;
typedef ushort raw_t;
#define load_vector(p, i) vload_half((i), (p))
#define load_four(p, i) vload_half4(0, (p) + (i))
#elif defined(VECTOR_BF16)
typedef ushort vector_t;
typedef ushort raw_t;
#define load_vector(p, i) as_float((uint)(p)[i] << 16)
#define load_four(p, i) as_float4(convert_uint4(vload4(0, (p) + (i))) << 16)
#endif

// A bunch is the LANES lanes that walk a tile together: a subgroup, or (with BUNCHES = 1, unless all bunches of
// a group take the same turns) what one group barrier holds together.
#if defined(LANES_SUBGROUP)

#if defined(SUBGROUP_NV)
// Warps of 32 in the order of local ids; shuffles by the instruction itself. A bunch is a warp, or a part of one: then all lanes
// of the warp must meet at barriers and shuffles, as they do where barriers are of the group. The mask names no lane that the
// group lacks. Where it is no constant, because a group ends within its last warp, the compiler calls a function for each shuffle.
#define WARP_LANES 32
#define lane_id() ((uint)get_local_id(0) % LANES)
#define bunch_id() ((uint)get_local_id(0) / LANES)
#if LANES * BUNCHES % WARP_LANES == 0
#define MEETING 0xffffffffu
#elif LANES * BUNCHES < WARP_LANES
#define MEETING ((1u << LANES * BUNCHES) - 1)
#else
#define MEETING (((1u << LANES) - 1) << (uint)get_local_id(0) % WARP_LANES / LANES * LANES)
#endif
// The bits of a lane's number that are the bunch's, and the greatest number within one: indices count from its first lane.
#define WITHIN_BUNCH ((WARP_LANES - LANES) << 8 | 0x1f)
static void bunch_barrier(void)
{
    mem_fence(CLK_LOCAL_MEM_FENCE);
    __asm__ volatile("bar.warp.sync %0;" : : "r"(MEETING) : "memory");
}
static uint lane_read_word(uint v, uint from)
{
    uint r;
    __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, %3, %4;"
                     : "=r"(r)
                     : "r"(v), "r"(from), "r"(WITHIN_BUNCH), "r"(MEETING));
    return r;
}
#else
#if defined(SUBGROUP_INTEL)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#undef KERNEL
#define KERNEL                                                                                                \
    __attribute__((intel_reqd_sub_group_size(LANES))) __kernel                                                \
    __attribute__((reqd_work_group_size(LANES * BUNCHES, 1, 1)))
#define lane_read_word(v, from) intel_sub_group_shuffle((v), (from))
#else
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define lane_read_word(v, from) sub_group_shuffle((v), (from))
#endif
#define lane_id() get_sub_group_local_id()
#define bunch_id() get_sub_group_id()
#define bunch_barrier() sub_group_barrier(CLK_LOCAL_MEM_FENCE)
#endif

// What another lane has, by a function that reads a word of it.
#if defined(VECTOR_C64)
#define READ_BY(read_word, v, from)                                                                           \
    as_double2((uint4)(read_word(as_uint4(v).x, (from)), read_word(as_uint4(v).y, (from)),                    \
                       read_word(as_uint4(v).z, (from)), read_word(as_uint4(v).w, (from))))
#elif defined(VECTOR_C32)
#define READ_BY(read_word, v, from)                                                                           \
    as_float2((uint2)(read_word(as_uint2(v).x, (from)), read_word(as_uint2(v).y, (from))))
#elif defined(VECTOR_F64)
#define READ_BY(read_word, v, from)                                                                           \
    as_double((uint2)(read_word(as_uint2(v).x, (from)), read_word(as_uint2(v).y, (from))))
#else
#define READ_BY(read_word, v, from) as_float(read_word(as_uint(v), (from)))
#endif
static accum_t lane_read(accum_t v, uint from) { return READ_BY(lane_read_word, v, from); }

// Declares a sum that each lane keeps over several tiles.
#define LANE_KEPT(name)                                                                                       \
    accum_t group_##name;                                                                                     \
    accum_t *const own_##name = &group_##name;
// Subgroups need no memory to talk.
#define LANE_TALK
typedef uint talk_t;
#define lane_talk() 0u

#else

#define lane_id() ((uint)get_local_id(0) % LANES)
#define bunch_id() ((uint)get_local_id(0) / LANES)
#define bunch_barrier() barrier(CLK_LOCAL_MEM_FENCE)

// Declares a sum that each lane keeps over several tiles: in local memory, because PoCL 5 aborts on lane
// variables that a loop carries from a barrier at its end to its beginning.
#define LANE_KEPT(name)                                                                                       \
    LOCAL accum_t group_##name[BUNCHES * LANES];                                                              \
    LOCAL accum_t *const own_##name = group_##name + get_local_id(0);
// One sum and one count for each lane of the bunch.
#define LANE_TALK                                                                                             \
    LOCAL accum_t talk_sums[BUNCHES * LANES];                                                                 \
    LOCAL uint talk_counts[BUNCHES * LANES];
typedef struct
{
    LOCAL accum_t *sums;
    LOCAL uint *counts;
} talk_t;
#define lane_talk() {talk_sums + bunch_id() * LANES, talk_counts + bunch_id() * LANES}

#endif

// Sets a bit of a word that other lanes may set bits of at the same time.
#if LANES == 1
#define mark_bit(word, bit) (*(word) |= 1u << (bit))
#else
#define mark_bit(word, bit) atomic_or((word), 1u << (bit))
#endif

// The least power of two that is not below LANES: steps of a reduction by halves.
#define LANES_LE(n) (LANES <= (n))
#define LANES_POW2                                                                                            \
    (LANES_LE(1)     ? 1                                                                                      \
     : LANES_LE(2)   ? 2                                                                                      \
     : LANES_LE(4)   ? 4                                                                                      \
     : LANES_LE(8)   ? 8                                                                                      \
     : LANES_LE(16)  ? 16                                                                                     \
     : LANES_LE(32)  ? 32                                                                                     \
     : LANES_LE(64)  ? 64                                                                                     \
     : LANES_LE(128) ? 128                                                                                    \
     : LANES_LE(256) ? 256                                                                                    \
     : LANES_LE(512) ? 512                                                                                    \
                     : 1 << 20)

// The sum over the bunch, for every lane. All lanes of the bunch must come here.
static accum_t lane_sum(talk_t talk, accum_t v)
{
#if LANES == 1
    return v;
#elif defined(LANES_SUBGROUP)
    // Subgroups and parts of them have powers of two.
    const uint lane = lane_id();
    for (uint d = LANES / 2; d > 0; d /= 2) v += lane_read(v, lane ^ d);
    return v;
#else
    const uint lane = lane_id();
    talk.sums[lane] = v;
    for (uint d = LANES_POW2 / 2; d > 0; d /= 2)
    {
        bunch_barrier();
        if (lane < d && lane + d < LANES) talk.sums[lane] += talk.sums[lane + d];
    }
    bunch_barrier();
    const accum_t total = talk.sums[0];
    bunch_barrier();
    return total;
#endif
}

// The sum over each `n` lanes of the group, for the first of them, where each LANES of these have theirs already; powers of
// two up to 32. All lanes of the group must come here, and each 32 of them with the same `n`. Groups have whole 32.
#define WIDER_LANES 32
#if defined(SUBGROUP_NV)
#define WIDER_TALK
#define wider_talk() 0u
static uint warp_read_word(uint v, uint flip)
{
    uint r;
    __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v), "r"(flip));
    return r;
}
// What the first lane of the warp has.
static uint warp_first(uint v)
{
    uint r;
    __asm__ volatile("shfl.sync.idx.b32 %0, %1, 0, 0x1f, 0xffffffff;" : "=r"(r) : "r"(v));
    return r;
}
static accum_t wider_sum(uint talk, accum_t v, uint n)
{
    for (uint d = LANES; d < n; d *= 2) v += READ_BY(warp_read_word, v, d);
    return v;
}
#else
// A sum for each lane of the group.
#define WIDER_TALK LOCAL accum_t wider_sums[BUNCHES * LANES];
#define wider_talk() wider_sums
static accum_t wider_sum(LOCAL accum_t *talk, accum_t v, uint n)
{
    const uint own = bunch_id() * LANES + lane_id();
    talk[own] = v;
    for (uint d = WIDER_LANES / 2; d >= LANES; d /= 2)
    {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own % n < d && d < n) talk[own] += talk[own + d];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return talk[own];
}
#endif

#if defined(JOINS_NV)
// Groups of a launch see what others wrote before they arrived: by the instructions themselves, since OpenCL C 1.2 has no fence
// for that.

// Counts an arrival; the lane that arrives last sees what the others wrote before theirs, by `joined`. The number of
// those before it.
static uint join(GLOBAL uint *arrivals)
{
    __asm__ volatile("membar.gl;" ::: "memory");
    const uint n = atomic_inc(arrivals);
    __asm__ volatile("membar.gl;" ::: "memory");
    return n;
}
static accum_t joined(GLOBAL const accum_t *p) { return *(volatile GLOBAL const accum_t *)p; }
#endif

// Where a lane stands in a bunch whose lanes each begin `n` segments and leave the last one open with `sum`
// (or, without a beginning, add `sum` to the one that is open).
typedef struct
{
    uint n_before;      // segments begun in lower lanes
    uint n_total;       // segments begun in the bunch
    accum_t sum_before; // the open segment's sum before this lane
    accum_t sum_total;  // the open segment's sum after the last lane
} scan_t;

// All lanes of the bunch must come here.
static scan_t lane_scan(talk_t talk, uint n, accum_t sum)
{
    const uint lane = lane_id();
    const uint own = n;
    scan_t scan;
#if defined(LANES_SUBGROUP)
    for (uint d = 1; d < LANES; d *= 2)
    {
        const uint from = lane >= d ? lane - d : 0;
        const uint other_n = lane_read_word(n, from);
        const accum_t other_sum = lane_read(sum, from);
        if (lane >= d)
        {
            if (n == 0) sum = other_sum + sum;
            n += other_n;
        }
    }
    const accum_t before = lane_read(sum, lane > 0 ? lane - 1 : 0);
    scan.n_total = lane_read_word(n, LANES - 1);
    scan.sum_total = lane_read(sum, LANES - 1);
#else
    talk.counts[lane] = n;
    talk.sums[lane] = sum;
    bunch_barrier();
    for (uint d = 1; d < LANES; d *= 2)
    {
        const uint from = lane >= d ? lane - d : lane;
        const uint other_n = talk.counts[from];
        const accum_t other_sum = talk.sums[from];
        bunch_barrier();
        if (lane >= d)
        {
            if (n == 0) sum = other_sum + sum;
            n += other_n;
            talk.counts[lane] = n;
            talk.sums[lane] = sum;
        }
        bunch_barrier();
    }
    const accum_t before = talk.sums[lane > 0 ? lane - 1 : 0];
    scan.n_total = talk.counts[LANES - 1];
    scan.sum_total = talk.sums[LANES - 1];
    bunch_barrier();
#endif
    scan.n_before = n - own;
    scan.sum_before = lane > 0 ? before : ZERO;
    return scan;
}

// As in BLAS, a factor of zero does not read what it scales: a NaN in there must not spread.
static accum_t scaled(accum_t alpha, accum_t sum) { return is_zero(alpha) ? ZERO : times(alpha, sum); }

static void store(GLOBAL accum_t *y, accum_t alpha, accum_t sum, accum_t beta)
{
    *y = is_zero(beta) ? scaled(alpha, sum) : scaled(alpha, sum) + times(beta, *y);
}

// What becomes of a row's sum: alpha*sum + beta times what stands in y, or in z (EPILOGUE_Z), no less than lo and no more than hi
// (EPILOGUE_CLAMP).
#define EPILOGUE_Z 1
#define EPILOGUE_CLAMP 2
typedef struct
{
    accum_t alpha;
    accum_t beta;
    accum_t lo;
    accum_t hi;
    bool clamps;
    GLOBAL const accum_t *old;
} finish_t;

static finish_t finish_of(uint epilogue, accum_t alpha, accum_t beta, accum_t lo, accum_t hi, GLOBAL const accum_t *z,
                          GLOBAL const accum_t *y)
{
    finish_t finish;
    finish.alpha = alpha;
    finish.beta = beta;
    finish.lo = lo;
    finish.hi = hi;
    finish.clamps = (epilogue & EPILOGUE_CLAMP) != 0;
    finish.old = epilogue & EPILOGUE_Z ? z : y;
    return finish;
}

// What is no number stays so; complex ones have no order.
static accum_t clamped(accum_t v, accum_t lo, accum_t hi)
{
#if defined(COMPLEX)
    return v;
#else
    return v < lo ? lo : v > hi ? hi : v;
#endif
}

// `is_whole`: whether nothing will be added to the row.
static void store_row(GLOBAL accum_t *y, uint at, accum_t sum, const finish_t *finish, bool is_whole)
{
    accum_t now = scaled(finish->alpha, sum);
    if (!is_zero(finish->beta)) now += times(finish->beta, finish->old[at]);
    if (finish->clamps && is_whole) now = clamped(now, finish->lo, finish->hi);
    y[at] = now;
}

static void finish_row(GLOBAL accum_t *y, uint at, accum_t sum, const finish_t *finish)
{
    store_row(y, at, sum, finish, true);
}

// Index of an entry's product in local memory. A word of padding for every 32: lanes that read whole rows of equal
// lengths then read from different banks.
#define HELD_AT(entry) ((entry) + (entry) / 32)

// The greatest row from `low` on, up to `high`, that starts at or before `entry`; row `low` must.
static uint locate(GLOBAL const uint *row_ptr, uint low, uint high, uint entry)
{
    while (low < high)
    {
        const uint mid = low + (high - low + 1) / 2;
        if (row_ptr[mid] <= entry)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

// Reductions of vectors: sums, and greatest numbers, of which a NaN is one.
#define OP_SUM 0
#define OP_GREATEST 1
static accum_t joined_by(uint op, accum_t a, accum_t b)
{
    if (op == OP_SUM) return a + b;
    return exceeds(b, a) ? b : a;
}

// A quotient with a zero is zero: what has converged stays as it is.
static accum_t factor(accum_t by, accum_t num, accum_t den)
{
    return is_zero(by) || is_zero(num) || is_zero(den) ? ZERO : times(by, quotient(num, den));
}

// What all lanes of the group have together. `own` holds a number of each; all lanes must come here once.
static accum_t group_total(LOCAL accum_t *own, accum_t v, uint op)
{
    const uint lane = (uint)get_local_id(0);
    const uint n_lanes = LANES * BUNCHES;
    own[lane] = v;
    uint reach = 1;
    while (reach < n_lanes) reach *= 2;
    for (uint d = reach / 2; d > 0; d /= 2)
    {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < d && lane + d < n_lanes) own[lane] = joined_by(op, own[lane], own[lane + d]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return own[0];
}
