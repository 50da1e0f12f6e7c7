//! Speed of the encoding kernels on one core, beside the plain limits in the same run.
//!
//! `cargo bench --no-default-features --bench kernels`. Bytes per second are those of the
//! data: eight sources of 64 KiB for Reed-Solomon, one source for XOR. The ratios at the end
//! are of medians of times that were taken in turns, so that a busy machine slows down both
//! sides.

use criterion::{BenchmarkId, Criterion, Throughput};
use scr::redundancy::code::{Code, Kind};
use scr::redundancy::kernel::Kernel;
use std::hint::black_box;
use std::time::{Duration, Instant};

const BUFFER: usize = 64 << 10;
const DATA: usize = 8;
const PARITY: usize = 2;

fn noise(seed: usize, length: usize) -> Vec<u8> {
    let mut state = seed as u64 | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// What a compiler makes of the obvious loop, for whatever processor it may assume.
#[inline(never)]
fn plain_xor(dst: &mut [u8], src: &[u8]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d ^= s;
    }
}

/// The same, for a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn plain_xor_avx2(dst: &mut [u8], src: &[u8]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d ^= s;
    }
}

/// The better of the two.
fn vectorised_xor(dst: &mut [u8], src: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was asked.
        return unsafe { plain_xor_avx2(dst, src) };
    }
    plain_xor(dst, src);
}

/// A column of 8 + 2 blocks: what encodes it, and what decodes it when two of data are lost.
struct Column {
    blocks: Vec<Vec<u8>>,
    encode: Vec<u8>,
    decode: Vec<u8>,
}

impl Column {
    fn new() -> Option<Column> {
        let code = Code::new(Kind::Rs, DATA + PARITY, PARITY)?;
        let all: Vec<usize> = (0..DATA + PARITY).collect();
        Some(Column {
            blocks: all.iter().map(|i| noise(i + 1, BUFFER)).collect(),
            encode: code.solve(0, &all[..DATA], &all[DATA..])?,
            decode: code.solve(0, &all[PARITY..], &all[..PARITY])?,
        })
    }

    fn run(&self, kernel: Kernel, coefficients: &[u8], results: &mut [Vec<u8>]) {
        let sources: Vec<&[u8]> = self.blocks[..DATA].iter().map(|b| &b[..]).collect();
        let mut targets: Vec<&mut [u8]> = results.iter_mut().map(|b| &mut b[..]).collect();
        kernel.apply(coefficients, black_box(&sources), &mut targets);
    }

    fn checksums(&self) -> u32 {
        let sums = self.blocks[..DATA]
            .iter()
            .map(|b| crc32fast::hash(black_box(b)));
        sums.fold(0, |all, sum| all ^ sum)
    }
}

fn xor(criterion: &mut Criterion) {
    for length in [BUFFER, 64 << 20] {
        let mut group = criterion.benchmark_group(format!("xor {} KiB", length >> 10));
        group.throughput(Throughput::Bytes(length as u64));
        let (mut dst, src) = (noise(1, length), noise(2, length));
        group.bench_function("memcpy", |b| {
            b.iter(|| dst.copy_from_slice(black_box(&src)))
        });
        group.bench_function("dst ^= src", |b| {
            b.iter(|| vectorised_xor(&mut dst, black_box(&src)))
        });
        for kernel in Kernel::all() {
            group.bench_function(kernel.name(), |b| {
                b.iter(|| kernel.update(&[1], black_box(&src), &mut [&mut dst]));
            });
        }
    }
}

fn reed_solomon(criterion: &mut Criterion, column: &Column) {
    let mut group = criterion.benchmark_group("rs 8+2, 64 KiB");
    group.throughput(Throughput::Bytes((DATA * BUFFER) as u64));
    let mut results = vec![vec![0; BUFFER]; PARITY];
    group.bench_function("crc32 of the data", |b| b.iter(|| column.checksums()));
    for kernel in Kernel::all() {
        for (what, coefficients) in [("encode", &column.encode), ("decode", &column.decode)] {
            group.bench_function(BenchmarkId::new(what, kernel.name()), |b| {
                b.iter(|| column.run(kernel, coefficients, &mut results));
            });
        }
    }
}

/// Median seconds of both, taken in turns.
fn in_turns(mut a: impl FnMut(), mut b: impl FnMut()) -> (f64, f64) {
    let time = |f: &mut dyn FnMut()| {
        let begin = Instant::now();
        (0..20).for_each(|_| f());
        begin.elapsed().as_secs_f64() / 20.0
    };
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..101 {
        times[0].push(time(&mut a));
        times[1].push(time(&mut b));
    }
    let [a, b] = times.map(|mut list| {
        list.sort_by(f64::total_cmp);
        list[list.len() / 2]
    });
    (a, b)
}

fn ratios(column: &Column) {
    let speed = |seconds: f64| (DATA * BUFFER) as f64 / seconds / 1e9;
    let (mut dst, mut same, src) = (noise(1, BUFFER), noise(1, BUFFER), noise(2, BUFFER));
    let (mut one, mut two) = (vec![vec![0; BUFFER]; PARITY], vec![vec![0; BUFFER]; PARITY]);
    println!("\nratios, and GB/s of data");
    for kernel in Kernel::all() {
        let name = kernel.name();
        let (ours, plain) = in_turns(
            || kernel.update(&[1], black_box(&src), &mut [&mut dst]),
            || vectorised_xor(&mut same, black_box(&src)),
        );
        println!(
            "{name:15} xor at {:4.0}% of the compiler's dst ^= src",
            100.0 * plain / ours
        );
        let (encode, decode) = in_turns(
            || column.run(kernel, &column.encode, &mut one),
            || column.run(kernel, &column.decode, &mut two),
        );
        println!(
            "{name:15} encode {:5.1}, decode {:5.1} at {:4.0}% of it",
            speed(encode),
            speed(decode),
            100.0 * encode / decode
        );
        let (encode, sums) = in_turns(
            || column.run(kernel, &column.encode, &mut one),
            || {
                black_box(column.checksums());
            },
        );
        println!(
            "{name:15} crc32 {:5.1}: {:4.0}% of arithmetic and checksum together",
            speed(sums),
            100.0 * sums / (sums + encode)
        );
    }
}

fn main() {
    let Some(column) = Column::new() else {
        return;
    };
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    xor(&mut criterion);
    reed_solomon(&mut criterion, &column);
    criterion.final_summary();
    ratios(&column);
}
