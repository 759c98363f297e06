// kernel: vec_scalars
// params: n_steps program scalars
// steps:  1 the first lane takes the steps in order; 2 read what a step takes; 3 copy, add, subtract, multiply, divide, take a root
//         or an absolute value, the greater or the lesser; 4 store the scalar that the step sets

// What a step does; else it copies.
const OP_ADD = 1u;
const OP_SUBTRACT = 2u;
const OP_MULTIPLY = 3u;
const OP_DIVIDE = 4u;
const OP_SQRT = 5u;
const OP_ABS = 6u;
const OP_GREATER = 7u;
const OP_LESSER = 8u;

fn vec_scalars()
{
    // STEP 1
    if (local_id != 0u) { return; }
    for (var i = 0u; i < 4u * p.n_steps; i += 4u)
    {
        // STEP 2
        let op = program[i];
        let a = scalars[program[i + 1u]];
        let b = scalars[program[i + 2u]];
        // STEP 3
        var value = a;
        if (op == OP_ADD) { value = a + b; }
        if (op == OP_SUBTRACT) { value = a - b; }
        if (op == OP_MULTIPLY) { value = times(a, b); }
        if (op == OP_DIVIDE)
        {
            // A quotient with a zero is zero: what has converged stays as it is.
            value = accum(0.0);
            if (!is_zero(a) && !is_zero(b)) { value = quotient(a, b); }
        }
        if (op == OP_SQRT) { value = root(a); }
        if (op == OP_ABS) { value = modulus(a); }
        if (op == OP_GREATER) { value = select(a, b, exceeds(b, a)); }
        if (op == OP_LESSER) { value = select(a, b, exceeds(-b, -a)); }
        // STEP 4
        scalars[program[i + 3u]] = value;
    }
}
