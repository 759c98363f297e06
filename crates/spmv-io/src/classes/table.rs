//! The table, and the numbers of its recipes.

use super::entry::{Class, Entry};
use super::recipe::Recipe;

/// Bricks in space: a node is joined to itself and some 25 about it, and has 3 displacements.
const FEM_3: Recipe = Recipe::Mesh { unknowns: 3, joined: (26.0, 3.0), dimensions: 3 };
/// Shells: a node is joined to itself and some 8 about it, and has 3 displacements and 3 rotations.
const FEM_6: Recipe = Recipe::Mesh { unknowns: 6, joined: (9.0, 1.0), dimensions: 2 };
const FULL_BAND: Recipe = Recipe::FullBand { half_width: 32 };
const SPARSE_BAND: Recipe = Recipe::SparseBand { len: 16, half_width: 1000 };
const BLOCKS: Recipe = Recipe::Blocks { min: 8, max: 64 };
/// The number is the mean length of a row.
const RANDOM_4: Recipe = Recipe::Random { max: 7 };
const RANDOM_16: Recipe = Recipe::Random { max: 31 };
const POWER_OUT: Recipe = Recipe::PowerLaw { min: 2, exponent: 2.1 };

/// The suite, kind by kind, the smallest of each first.
pub static ENTRIES: [Entry; 75] = [
    entry("stencil5-1e5", Class::Stencil, 100_000, Recipe::Square),
    entry("stencil5-1e6", Class::Stencil, 1_000_000, Recipe::Square),
    entry("stencil5-1e7", Class::Stencil, 10_000_000, Recipe::Square),
    entry("stencil5-1e8", Class::Stencil, 100_000_000, Recipe::Square),
    entry("stencil7-1e5", Class::Stencil, 100_000, Recipe::Cube),
    entry("stencil7-1e6", Class::Stencil, 1_000_000, Recipe::Cube),
    entry("stencil7-1e7", Class::Stencil, 10_000_000, Recipe::Cube),
    entry("stencil7-1e8", Class::Stencil, 100_000_000, Recipe::Cube),
    entry("stencil7-1e9", Class::Stencil, 1_000_000_000, Recipe::Cube),
    entry("stencil27-1e5", Class::Stencil, 100_000, Recipe::CubeBox),
    entry("stencil27-1e6", Class::Stencil, 1_000_000, Recipe::CubeBox),
    entry("stencil27-1e7", Class::Stencil, 10_000_000, Recipe::CubeBox),
    entry("stencil27-1e8", Class::Stencil, 100_000_000, Recipe::CubeBox),
    entry("fem3-1e5", Class::FiniteElements, 100_000, FEM_3),
    entry("fem3-1e6", Class::FiniteElements, 1_000_000, FEM_3),
    entry("fem3-1e7", Class::FiniteElements, 10_000_000, FEM_3),
    entry("fem3-1e8", Class::FiniteElements, 100_000_000, FEM_3),
    entry("fem3-1e9", Class::FiniteElements, 1_000_000_000, FEM_3),
    entry("fem6-1e5", Class::FiniteElements, 100_000, FEM_6),
    entry("fem6-1e6", Class::FiniteElements, 1_000_000, FEM_6),
    entry("fem6-1e7", Class::FiniteElements, 10_000_000, FEM_6),
    entry("fem6-1e8", Class::FiniteElements, 100_000_000, FEM_6),
    entry("band-1e5", Class::Banded, 100_000, FULL_BAND),
    entry("band-1e6", Class::Banded, 1_000_000, FULL_BAND),
    entry("band-1e7", Class::Banded, 10_000_000, FULL_BAND),
    entry("band-1e8", Class::Banded, 100_000_000, FULL_BAND),
    entry("sparse-band-1e5", Class::Banded, 100_000, SPARSE_BAND),
    entry("sparse-band-1e6", Class::Banded, 1_000_000, SPARSE_BAND),
    entry("sparse-band-1e7", Class::Banded, 10_000_000, SPARSE_BAND),
    entry("sparse-band-1e8", Class::Banded, 100_000_000, SPARSE_BAND),
    entry("blocks-1e5", Class::BlockDiagonal, 100_000, BLOCKS),
    entry("blocks-1e6", Class::BlockDiagonal, 1_000_000, BLOCKS),
    entry("blocks-1e7", Class::BlockDiagonal, 10_000_000, BLOCKS),
    entry("blocks-1e8", Class::BlockDiagonal, 100_000_000, BLOCKS),
    entry("random4-1e5", Class::Random, 100_000, RANDOM_4),
    entry("random4-1e6", Class::Random, 1_000_000, RANDOM_4),
    entry("random4-1e7", Class::Random, 10_000_000, RANDOM_4),
    entry("random4-1e8", Class::Random, 100_000_000, RANDOM_4),
    entry("random16-1e5", Class::Random, 100_000, RANDOM_16),
    entry("random16-1e6", Class::Random, 1_000_000, RANDOM_16),
    entry("random16-1e7", Class::Random, 10_000_000, RANDOM_16),
    entry("random16-1e8", Class::Random, 100_000_000, RANDOM_16),
    entry("random16-1e9", Class::Random, 1_000_000_000, RANDOM_16),
    entry("power-out-1e5", Class::PowerLaw, 100_000, POWER_OUT),
    entry("power-out-1e6", Class::PowerLaw, 1_000_000, POWER_OUT),
    entry("power-out-1e7", Class::PowerLaw, 10_000_000, POWER_OUT),
    entry("power-out-1e8", Class::PowerLaw, 100_000_000, POWER_OUT),
    entry("power-in-1e5", Class::PowerLaw, 100_000, Recipe::Transpose(&POWER_OUT)),
    entry("power-in-1e6", Class::PowerLaw, 1_000_000, Recipe::Transpose(&POWER_OUT)),
    entry("power-in-1e7", Class::PowerLaw, 10_000_000, Recipe::Transpose(&POWER_OUT)),
    entry("power-in-1e8", Class::PowerLaw, 100_000_000, Recipe::Transpose(&POWER_OUT)),
    entry("rmat-1e5", Class::PowerLaw, 100_000, Recipe::Rmat),
    entry("rmat-1e6", Class::PowerLaw, 1_000_000, Recipe::Rmat),
    entry("rmat-1e7", Class::PowerLaw, 10_000_000, Recipe::Rmat),
    entry("rmat-1e8", Class::PowerLaw, 100_000_000, Recipe::Rmat),
    entry("lp-wide-1e5", Class::LinearProgram, 100_000, Recipe::Wide),
    entry("lp-wide-1e6", Class::LinearProgram, 1_000_000, Recipe::Wide),
    entry("lp-wide-1e7", Class::LinearProgram, 10_000_000, Recipe::Wide),
    entry("lp-wide-1e8", Class::LinearProgram, 100_000_000, Recipe::Wide),
    entry("lp-wide-t-1e5", Class::LinearProgram, 100_000, Recipe::Transpose(&Recipe::Wide)),
    entry("lp-wide-t-1e6", Class::LinearProgram, 1_000_000, Recipe::Transpose(&Recipe::Wide)),
    entry("lp-wide-t-1e7", Class::LinearProgram, 10_000_000, Recipe::Transpose(&Recipe::Wide)),
    entry("lp-wide-t-1e8", Class::LinearProgram, 100_000_000, Recipe::Transpose(&Recipe::Wide)),
    entry("lp-tall-1e5", Class::LinearProgram, 100_000, Recipe::Tall),
    entry("lp-tall-1e6", Class::LinearProgram, 1_000_000, Recipe::Tall),
    entry("lp-tall-1e7", Class::LinearProgram, 10_000_000, Recipe::Tall),
    entry("lp-tall-1e8", Class::LinearProgram, 100_000_000, Recipe::Tall),
    entry("lp-tall-t-1e5", Class::LinearProgram, 100_000, Recipe::Transpose(&Recipe::Tall)),
    entry("lp-tall-t-1e6", Class::LinearProgram, 1_000_000, Recipe::Transpose(&Recipe::Tall)),
    entry("lp-tall-t-1e7", Class::LinearProgram, 10_000_000, Recipe::Transpose(&Recipe::Tall)),
    entry("lp-tall-t-1e8", Class::LinearProgram, 100_000_000, Recipe::Transpose(&Recipe::Tall)),
    entry("circuit-1e5", Class::Circuit, 100_000, Recipe::Circuit),
    entry("circuit-1e6", Class::Circuit, 1_000_000, Recipe::Circuit),
    entry("circuit-1e7", Class::Circuit, 10_000_000, Recipe::Circuit),
    entry("circuit-1e8", Class::Circuit, 100_000_000, Recipe::Circuit),
];

const fn entry(name: &'static str, class: Class, nnz: usize, recipe: Recipe) -> Entry {
    Entry { name, class, nnz, recipe }
}
