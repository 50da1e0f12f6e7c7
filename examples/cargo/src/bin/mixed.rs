//! A program in Rust whose numerical part, and with it the checkpoints, is in Fortran.
//! Usage: mixed [steps N] [every N] [delay MS]

use mpi::Threading;
use mpi::traits::Communicator;
use scr as _; // links the library
use std::ffi::c_int;
use std::time::Duration;

// Module rod in src/rod.f90. All are collective.
unsafe extern "C" {
    safe fn rod_start();
    safe fn rod_restart() -> c_int;
    safe fn rod_checkpoint(step: c_int) -> bool;
    safe fn rod_advance();
    safe fn rod_sum() -> f64;
    safe fn rod_end();
}

fn main() {
    let (mut steps, mut every, mut delay) = (100, 10, 0);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|text| text.parse().ok());
        match (name.as_str(), value) {
            ("steps", Some(number)) => steps = number,
            ("every", Some(number)) => every = number,
            ("delay", Some(number)) => delay = number,
            _ => panic!("usage: mixed [steps N] [every N] [delay MS], not '{name}'"),
        }
    }

    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Single) else {
        panic!("MPI cannot be initialised");
    };
    let say = |text: String| {
        if universe.world().rank() == 0 {
            println!("mixed: {text}");
        }
    };
    rod_start();
    let mut step = rod_restart();
    say(format!("begins at step {step}"));
    while step < steps {
        step += 1;
        rod_advance();
        std::thread::sleep(Duration::from_millis(delay as u64));
        if step % every == 0 && rod_checkpoint(step) {
            say(format!("checkpoint rod.{step}"));
        }
    }
    say(format!("finished step {step}, sum {:e}", rod_sum()));
    rod_end();
}
