//! Devices with memory of their own, and how fast it is copied.

use super::report::DoctorReport;
use scr_engine::device;
use scr_engine::system::limits::locked_memory;
use scr_engine::system::loaded::Library;
use scr_engine::text::{bytes, counted};

/// Reports them. CUDA is started for it, as a program would.
pub(super) fn look(report: &mut DoctorReport) {
    report.section("Devices");
    let cuda = match device::measure() {
        Ok(None) => "no libcuda.so.1".to_string(),
        Ok(Some(bus)) => {
            let how = if bus.is_registered {
                "registered"
            } else {
                "ordinary (registering is refused)"
            };
            let rate = bus.rate / 1e9;
            format!(
                "{}, {}: {rate:.1} GB/s to {how} memory",
                counted(bus.devices as usize, "device"),
                bus.name
            )
        }
        Err(error) => format!("not used: {error}"),
    };
    report.fact("CUDA", cuda);
    let names = [
        c"libamdhip64.so.7",
        c"libamdhip64.so.6",
        c"libamdhip64.so.5",
    ];
    let hip = names.iter().find(|name| Library::load(name).is_some());
    report.fact(
        "HIP",
        hip.map_or("no libamdhip64.so".to_string(), |name| {
            format!("{}, not measured", name.to_string_lossy())
        }),
    );
    let locked = locked_memory().map_or("no limit".to_string(), bytes);
    report.fact("locked", format!("{locked} (ulimit -l)"));
}
