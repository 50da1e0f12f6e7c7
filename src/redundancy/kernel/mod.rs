//! The arithmetic of the schemes: sums of products in the field of 256 elements with polynomial
//! 0x11D, in which a sum is an exclusive or.
//!
//! Encoding and decoding are the same call, [`Kernel::apply`], with different coefficients. All
//! engines give the same bytes; tests compare them with each other, with [`field`], and with fixed
//! checksums.

pub mod field;
#[cfg(target_arch = "aarch64")]
mod neon;
pub mod pages;
mod portable;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

use pages::{Page, Pages};
use std::fmt;
use vector::ProductSums;

/// An engine that this processor supports; others cannot be constructed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Engine);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx2Gfni,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx512Gfni,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Kernel {
    /// The fastest engine of this processor.
    pub fn best() -> Kernel {
        Kernel::all().next().unwrap_or(Kernel(Engine::Portable))
    }

    /// All engines of this processor, fastest first.
    pub fn all() -> impl Iterator<Item = Kernel> {
        #[cfg(target_arch = "x86_64")]
        let known = {
            let avx512 =
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            let avx2 = is_x86_feature_detected!("avx2");
            let gfni = is_x86_feature_detected!("gfni");
            [
                (avx512 && gfni, Engine::Avx512Gfni),
                (avx2 && gfni, Engine::Avx2Gfni),
                (avx512, Engine::Avx512),
                (avx2, Engine::Avx2),
                (true, Engine::Portable),
            ]
        };
        #[cfg(target_arch = "aarch64")]
        let known = [(true, Engine::Neon), (true, Engine::Portable)];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let known = [(true, Engine::Portable)];
        known
            .into_iter()
            .filter_map(|(there, engine)| there.then_some(Kernel(engine)))
    }

    /// Name for messages, such as `AVX-512 + GFNI`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Engine::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Engine::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Engine::Avx2Gfni => "AVX2 + GFNI",
            #[cfg(target_arch = "x86_64")]
            Engine::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Engine::Avx512Gfni => "AVX-512 + GFNI",
            #[cfg(target_arch = "aarch64")]
            Engine::Neon => "NEON",
        }
    }

    /// Sets each destination to a sum of products of all sources. The coefficient of source `s` in
    /// destination `d` is `coefficients[d * sources.len() + s]`, or 0 if it is missing. Sources are
    /// read once for every four destinations. Processes the length of the shortest slice; fastest
    /// for slices of 16 to 256 KiB, which fit the processor's cache.
    pub fn apply(self, coefficients: &[u8], sources: &[&[u8]], destinations: &mut [&mut [u8]]) {
        self.run(&ProductSums::new(
            coefficients,
            sources,
            destinations,
            false,
        ));
    }

    /// Adds one more source to each destination, multiplied by `coefficients[d]`; otherwise as
    /// [`Kernel::apply`].
    pub fn update(self, coefficients: &[u8], source: &[u8], destinations: &mut [&mut [u8]]) {
        self.run(&ProductSums::new(
            coefficients,
            &[source],
            destinations,
            true,
        ));
    }

    /// Adds the next pages to a polynomial of pages: it is multiplied by the generator of the field, and a page added, for
    /// each of them.
    pub fn fold(self, pages: &mut Pages, new: &[Page]) {
        match self.0 {
            Engine::Portable => portable::fold(pages, new),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `run`.
            Engine::Avx2 => unsafe { x86::fold_avx2(pages, new) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `run`.
            Engine::Avx2Gfni => unsafe { x86::fold_avx2_gfni(pages, new) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `run`.
            Engine::Avx512 => unsafe { x86::fold_avx512(pages, new) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `run`.
            Engine::Avx512Gfni => unsafe { x86::fold_avx512_gfni(pages, new) },
            #[cfg(target_arch = "aarch64")]
            Engine::Neon => neon::fold(pages, new),
        }
    }

    fn run(self, sums: &ProductSums) {
        match self.0 {
            Engine::Portable => portable::run(sums),
            // SAFETY of these: only `Kernel::all` makes a kernel, after it has asked the processor
            // for just these instructions.
            #[cfg(target_arch = "x86_64")]
            // SAFETY: see above.
            Engine::Avx2 => unsafe { x86::run_avx2(sums) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: see above.
            Engine::Avx2Gfni => unsafe { x86::run_avx2_gfni(sums) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: see above.
            Engine::Avx512 => unsafe { x86::run_avx512(sums) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: see above.
            Engine::Avx512Gfni => unsafe { x86::run_avx512_gfni(sums) },
            #[cfg(target_arch = "aarch64")]
            Engine::Neon => neon::run(sums),
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
