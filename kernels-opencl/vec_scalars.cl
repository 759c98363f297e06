// kernel: vec_scalars
// params: n_steps program scalars
// steps:  1 the first lane takes the steps in order; 2 read what a step takes; 3 copy, add, subtract, multiply, divide, take a root
//         or an absolute value, the greater or the lesser; 4 store the scalar that the step sets

// What a step does; else it copies.
#define OP_ADD 1
#define OP_SUBTRACT 2
#define OP_MULTIPLY 3
#define OP_DIVIDE 4
#define OP_SQRT 5
#define OP_ABS 6
#define OP_GREATER 7
#define OP_LESSER 8

KERNEL void vec_scalars(uint n_steps, GLOBAL const uint *program, GLOBAL accum_t *scalars)
{
    // STEP 1
    if (get_local_id(0) != 0) return;
    for (uint i = 0; i < 4 * n_steps; i += 4)
    {
        // STEP 2
        const uint op = program[i];
        const accum_t a = scalars[program[i + 1]];
        const accum_t b = scalars[program[i + 2]];
        // STEP 3
        accum_t value = a;
        if (op == OP_ADD) value = a + b;
        if (op == OP_SUBTRACT) value = a - b;
        if (op == OP_MULTIPLY) value = times(a, b);
        // A quotient with a zero is zero: what has converged stays as it is.
        if (op == OP_DIVIDE) value = is_zero(a) || is_zero(b) ? ZERO : quotient(a, b);
        if (op == OP_SQRT) value = root(a);
        if (op == OP_ABS) value = modulus(a);
        if (op == OP_GREATER) value = exceeds(b, a) ? b : a;
        if (op == OP_LESSER) value = exceeds(-b, -a) ? b : a;
        // STEP 4
        scalars[program[i + 3]] = value;
    }
}
