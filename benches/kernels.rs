//! Speed of the encoding kernels on one core, beside the plain limits in the same run, and
//! what the checksums add to the pass of which the kernels are a part.
//!
//! `cargo bench --no-default-features --bench kernels`. Bytes per second are those of the
//! data: eight sources of 64 KiB for Reed-Solomon, one source for XOR, a member's file for the
//! pass. The ratios at the end are of medians of times that were taken in turns, so that a
//! busy machine slows down both sides.

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use scr::redundancy::code::{Code, CodeKind};
use scr::redundancy::kernel::Kernel;
use scr::redundancy::logical::LogicalReader;
use scr::store::posix::Posix;
use scr::store::{File, Files};
use scr::{Error, Result};
use std::cell::RefCell;
use std::hint::black_box;
use std::path::{Path, PathBuf};
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

/// What a compiler makes of that loop for a processor with AVX2.
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
        let code = Code::new(CodeKind::Products, DATA + PARITY, PARITY)?;
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

/// Members of the set whose pass is measured, and bytes of a message and of a member's file,
/// which is a whole number of messages however it is cut into chunks.
const MEMBERS: usize = 4;
const PIECE: usize = 256 << 10;
const FILE: usize = 120 * PIECE;

/// What encoding costs one member besides waiting: its file is read from memory and sent,
/// as much of others arrives, is computed with, and the results are written. A copy stands
/// for each message, which a real one costs at least, so the checksum's share in a real pass
/// is not larger than here.
struct Pass {
    list: Vec<(PathBuf, u64)>,
    checksum: bool,
    parity: Box<dyn File>,
    chunk: usize,
    coefficients: Vec<u8>,
    read: Vec<u8>,
    arrived: Vec<Vec<u8>>,
    results: Vec<Vec<u8>>,
}

impl Pass {
    fn new(code: &Code, checksum: bool, dir: &Path) -> Result<Pass> {
        let all: Vec<usize> = (0..MEMBERS).collect();
        let (sources, targets) = all.split_at(code.data());
        let coefficients = code.solve(0, sources, targets);
        let data = dir.join("data");
        Posix.create(&data, 0o600)?.write_at(0, &noise(1, FILE))?;
        Ok(Pass {
            list: vec![(data, FILE as u64)],
            checksum,
            parity: Posix.create(&dir.join(format!("parity.{checksum}")), 0o600)?,
            chunk: FILE / sources.len(),
            coefficients: coefficients.ok_or_else(|| Error::format(0, "no solution"))?,
            read: vec![0; PIECE],
            arrived: vec![vec![0; PIECE]; sources.len()],
            results: vec![vec![0; PIECE]; targets.len()],
        })
    }

    fn run(&mut self) -> Result<()> {
        let mut reader = LogicalReader::new(&Posix, self.list.clone(), self.checksum)?;
        for at in (0..self.chunk).step_by(PIECE) {
            let place = |number| (number * self.chunk + at) as u64;
            for (number, message) in self.arrived.iter_mut().enumerate() {
                reader.read_at(place(number), &mut self.read)?;
                message.copy_from_slice(black_box(&self.read));
            }
            let sources: Vec<&[u8]> = self.arrived.iter().map(|b| &b[..]).collect();
            let mut targets: Vec<&mut [u8]> = self.results.iter_mut().map(|b| &mut b[..]).collect();
            Kernel::best().apply(&self.coefficients, &sources, &mut targets);
            for (number, result) in self.results.iter().enumerate() {
                self.parity.write_at(place(number), result)?;
            }
        }
        if self.checksum {
            black_box(reader.finish()?);
        }
        Ok(())
    }
}

/// The pass with checksums and without, in a file system in memory where there is one.
fn passes(criterion: &mut Criterion) -> Result<()> {
    let memory = PathBuf::from("/dev/shm");
    let base = Some(memory).filter(|dir| dir.is_dir());
    let base = base.unwrap_or_else(std::env::temp_dir);
    let dir = tempfile::tempdir_in(&base).map_err(|e| Error::io("create", &base, e))?;
    let mut shares = Vec::new();
    for (kind, failures) in [(CodeKind::Sum, 1), (CodeKind::Products, 2)] {
        let Some(code) = Code::new(kind, MEMBERS, failures) else {
            continue;
        };
        let name = format!("{kind:?} {}+{}", code.data(), code.parities()).to_lowercase();
        let mut with = Pass::new(&code, true, dir.path())?;
        let mut without = Pass::new(&code, false, dir.path())?;
        // An error shows here; the passes below do the same once more.
        with.run().and_then(|()| without.run())?;
        let mut group = criterion.benchmark_group(format!("encode pass of a member, {name}"));
        group.throughput(Throughput::Bytes(FILE as u64));
        group.sampling_mode(SamplingMode::Flat);
        group.bench_function("with crc32", |b| b.iter(|| with.run()));
        group.bench_function("without", |b| b.iter(|| without.run()));
        group.finish();
        let (with, without) = in_turns(1, || drop(with.run()), || drop(without.run()));
        let share = 100.0 * (with - without) / with;
        let speed = FILE as f64 / with / 1e9;
        shares.push(format!(
            "{name}: CRC32 is {share:.0} % of the encode pass ({speed:.1} GB/s)"
        ));
    }
    println!("\n{}", shares.join("\n"));
    Ok(())
}

/// Median seconds of both, taken in turns of so many calls.
fn in_turns(calls: u32, mut a: impl FnMut(), mut b: impl FnMut()) -> (f64, f64) {
    let time = |f: &mut dyn FnMut()| {
        let begin = Instant::now();
        (0..calls).for_each(|_| f());
        begin.elapsed().as_secs_f64() / f64::from(calls)
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
    // Both use the same buffers: where they lie decides how fast they are.
    let (dst, src) = (RefCell::new(noise(1, BUFFER)), noise(2, BUFFER));
    let (mut one, mut two) = (vec![vec![0; BUFFER]; PARITY], vec![vec![0; BUFFER]; PARITY]);
    println!("\nratios, and GB/s of data");
    for kernel in Kernel::all() {
        let name = kernel.name();
        let (ours, plain) = in_turns(
            20,
            || kernel.update(&[1], black_box(&src), &mut [&mut dst.borrow_mut()]),
            || vectorised_xor(&mut dst.borrow_mut(), black_box(&src)),
        );
        println!(
            "{name:15} xor at {:4.0}% of the compiler's dst ^= src",
            100.0 * plain / ours
        );
        let (encode, decode) = in_turns(
            20,
            || column.run(kernel, &column.encode, &mut one),
            || column.run(kernel, &column.decode, &mut two),
        );
        println!(
            "{name:15} encode {:5.1}, decode {:5.1} at {:4.0}% of it",
            speed(encode),
            speed(decode),
            100.0 * encode / decode
        );
    }
}

fn main() -> Result<()> {
    let column = Column::new().ok_or_else(|| Error::format(0, "the code has no solution"))?;
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    xor(&mut criterion);
    reed_solomon(&mut criterion, &column);
    passes(&mut criterion)?;
    criterion.final_summary();
    ratios(&column);
    Ok(())
}
