//! Memory of the host of which OpenACC or OpenMP has a copy on a device.

use super::fake::{in_child, load};
use crate::call;
use scr::device::Devices;
use std::ffi::{c_int, c_void};

#[test]
fn copies_of_host_memory_are_told() {
    in_child("offload::copies_of_host_memory_are_told", || {
        let gomp = load("gomp/libgomp.so.1");
        let there = |bytes: &mut [u8], to: usize, acc: c_int| {
            let at = bytes.as_mut_ptr();
            call!(gomp, fake_present(at => *mut u8, bytes.len() => usize, to as *mut c_void => *mut c_void, acc => c_int) -> ());
        };
        let asked = || call!(gomp, fake_asked() -> c_int);
        let (mut acc, mut omp, own) = (vec![0_u8; 1000], vec![0_u8; 1000], vec![0_u8; 1000]);
        let (mut shared, mut part) = (vec![0_u8; 1000], vec![0_u8; 1000]);
        let address = |bytes: &[u8]| bytes.as_ptr().addr();
        there(&mut acc, 0x5000_0000, 1);
        there(&mut omp, 0x6000_0000, 0);
        // Memory that the device shares.
        let same = address(&shared);
        there(&mut shared, same, 1);
        there(&mut shared, same, 0);
        there(&mut part[400..600], 0x7000_0000, 1);
        // Without a library of a device, without a context and without the device's part of the library nobody asks.
        assert_eq!(Devices::find().copy_of_host(address(&acc), 1000), None);
        let mut cuda = Some(super::fake::cuda());
        assert_eq!(Devices::find().copy_of_host(address(&acc), 1000), None);
        load("gomp/libgomp-plugin-nvptx.so.1");
        let before = cuda.take().unwrap();
        before.make_current(0);
        drop(before);
        assert_eq!(Devices::find().copy_of_host(address(&acc), 1000), None);
        assert_eq!(asked(), 0);
        cuda = Some(super::fake::cuda());
        let mut devices = Devices::find();
        assert_eq!(devices.copy_of_host(address(&acc), 1000), Some("OpenACC"));
        assert_eq!(devices.copy_of_host(address(&omp), 1), Some("OpenMP"));
        assert_eq!(devices.copy_of_host(address(&part), 1000), Some("OpenACC"));
        assert_eq!(devices.copy_of_host(address(&part), 400), None);
        assert_eq!(devices.copy_of_host(address(&own), 1000), None);
        assert_eq!(devices.copy_of_host(address(&shared), 1000), None);
        assert_eq!(devices.copy_of_host(address(&acc), 0), None);
        assert!(asked() > 0);
        drop(cuda);
    });
}
