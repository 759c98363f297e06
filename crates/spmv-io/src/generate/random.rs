//! Random draws that are the same on every platform.
//!
//! Absent on purpose: `ln`, `powf`, `sin` and their kin, whose last bits belong to the platform's libm.
//! Only integers and the four IEEE operations take part.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

/// Draws for one row, or for another unit of work that must not depend on its neighbours.
pub(crate) struct Draw(Pcg64Mcg);

impl Draw {
    /// Draws that depend on `(seed, index)` alone.
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        let high = mix(seed ^ mix(index.wrapping_add(0x632b_e59b_d9b4_e019)));
        let low = mix(high ^ index);
        Self(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }

    /// 64 uniform bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n`, by multiplication; the bias is below n / 2^64. `n` must not be 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0);
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A matrix value: magnitude uniform in [0.1, 1), either sign.
    pub(crate) fn value(&mut self) -> f64 {
        let bits = self.bits();
        let magnitude = 0.1 + 0.9 * ((bits >> 11) as f64 / (1u64 << 53) as f64);
        if bits & 1 == 0 { magnitude } else { -magnitude }
    }

    /// Mean 0, deviation 1: the sum of twelve uniform numbers less 6, so never beyond 6 deviations.
    pub(crate) fn normal(&mut self) -> f64 {
        let mut sum = 0u64;
        for _ in 0..3 {
            let bits = self.bits();
            sum += (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
        }
        sum as f64 / 65_536.0 - 6.0
    }

    /// A power law over `min..=max`, stepwise: each octave (2x the length of the one before) holds
    /// `tail` times the weight that remains, and is uniform inside.
    pub(crate) fn power_law(&mut self, min: u64, max: u64, tail: f64) -> u64 {
        let (mut low, mut high) = (min, min.saturating_mul(2));
        while high <= max && self.unit() < tail {
            (low, high) = (high, high.saturating_mul(2));
        }
        low + self.below(high.min(max + 1) - low)
    }
}

/// The finalizer of splitmix64 after one step: a bijection without visible structure.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Share of a power law of this exponent that lies beyond twice any point: 2^(1 - exponent).
pub(crate) fn octave_tail(exponent: f64) -> f64 {
    let x = (exponent - 1.0) * std::f64::consts::LN_2 / 64.0;
    // exp(-x) by its series where it converges at once, then squared six times.
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..24 {
        term *= -x / f64::from(k);
        sum += term;
    }
    (0..6).fold(sum, |power, _| power * power)
}

/// `0..n` in random order (Fisher-Yates). O(n).
pub(crate) fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut draw = Draw::new(seed, u64::MAX - 1);
    let mut order: Vec<usize> = (0..n).collect();
    for i in 1..n {
        order.swap(i, draw.below(i as u64 + 1) as usize);
    }
    order
}

/// A permutation of `0..n` that needs no memory: `index * stride + shift` modulo `n`. It parts neighbours,
/// but is evenly spread rather than random.
pub(crate) struct Scatter {
    n: u64,
    stride: u64,
    shift: u64,
}

impl Scatter {
    pub(crate) fn new(n: usize, seed: u64) -> Self {
        let n = (n as u64).max(1);
        let mut stride = (n * 618 / 1000) | 1;
        while gcd(stride, n) != 1 {
            stride += 2;
        }
        Self { n, stride, shift: mix(seed) % n }
    }

    pub(crate) fn at(&self, index: u64) -> usize {
        ((u128::from(index) * u128::from(self.stride) + u128::from(self.shift)) % u128::from(self.n)) as usize
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octaves_follow_the_exponent() {
        for (exponent, tail) in [(1.0, 1.0), (2.0, 0.5), (3.0, 0.25), (1.5, 0.5f64.sqrt())] {
            assert!((octave_tail(exponent) - tail).abs() < 1e-13, "exponent {exponent}");
        }
        let mut draw = Draw::new(1, 2);
        let lens: Vec<u64> = (0..100_000).map(|_| draw.power_law(3, 100, 0.5)).collect();
        assert!(lens.iter().all(|l| (3..=100).contains(l)));
        let long = lens.iter().filter(|&&l| l >= 12).count();
        assert!((24_000..26_000).contains(&long), "{long} of 100000 in the third octave or beyond");
    }

    #[test]
    fn normal_draws_have_mean_0_and_deviation_1() {
        let mut draw = Draw::new(3, 4);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..100_000 {
            let x = draw.normal();
            sum += x;
            squares += x * x;
        }
        assert!((sum / 1e5).abs() < 0.02 && (squares / 1e5 - 1.0).abs() < 0.02);
    }

    #[test]
    fn scattered_and_shuffled_are_permutations() {
        for n in [1, 2, 6, 97, 1000] {
            let scatter = Scatter::new(n, 5);
            let scattered: Vec<usize> = (0..n as u64).map(|i| scatter.at(i)).collect();
            for mut seen in [scattered, shuffled(n, 5)] {
                seen.sort_unstable();
                assert_eq!(seen, (0..n).collect::<Vec<_>>());
            }
        }
        assert!(shuffled(0, 5).is_empty());
    }
}
