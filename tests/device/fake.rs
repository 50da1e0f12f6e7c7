//! The libraries without a device, as the program has them.

use std::ffi::{CStr, CString, c_int, c_long, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Tells this program that it is the child of a test, which may have other libraries.
const CHILD: &str = "SCR_DEVICE_TEST_CHILD";

/// Runs `work` in a process of its own, if `name` is the whole name of this test.
pub fn in_child(name: &str, work: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        return work();
    }
    libraries();
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program);
    child.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
    let done = child.output().unwrap();
    let text =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success() && text.contains("1 passed"),
        "{name}: {text}"
    );
}

/// The folder with the libraries of `tests/device`, which are built once.
pub fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("device");
        // A child has those of its parent.
        if std::env::var_os(CHILD).is_none() {
            let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/device/build.sh");
            let done = Command::new(build).arg(&folder).output().unwrap();
            let text = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success() && text.is_empty(), "{text}");
        }
        folder
    })
}

/// Loads a library of the tests as Python does: its names are not global.
pub fn load(name: &str) -> Library {
    let path = libraries().join(name);
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: a string.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null());
    Library(handle)
}

/// A library that is loaded.
pub struct Library(*mut c_void);

// SAFETY: a handle of the whole process.
unsafe impl Send for Library {}

impl Library {
    pub fn symbol(&self, name: &str) -> *mut c_void {
        let text = CString::new(name).unwrap();
        // SAFETY: an open handle, and a string.
        let found = unsafe { libc::dlsym(self.0, text.as_ptr()) };
        assert!(!found.is_null(), "{name}");
        found
    }
}

/// Calls a function of a library.
#[macro_export]
macro_rules! call {
    ($library:expr, $name:ident($($argument:expr => $type:ty),*) -> $result:ty) => {{
        let function = $library.symbol(stringify!($name));
        // SAFETY: the signature of the function in the library of the tests.
        let function: unsafe extern "C" fn($($type),*) -> $result = unsafe { std::mem::transmute(function) };
        // SAFETY: what is passed lives during the call.
        unsafe { function($($argument),*) }
    }};
}

pub type Kernel = unsafe extern "C" fn(*mut *mut c_void, u32, u32, u32, u32, u32, u32);

/// CUDA's library, started by the program, with two devices. Only one test has it at a time.
pub struct Cuda {
    pub library: MutexGuard<'static, Library>,
    pub contexts: Vec<usize>,
}

static CUDA: OnceLock<Mutex<Library>> = OnceLock::new();

/// Loads the library without newer functions, if none was loaded before, for a test in a process of its own.
pub fn load_old() {
    CUDA.get_or_init(|| Mutex::new(load("old/libcuda.so.1")));
}

/// The library, loaded and not started.
pub fn loaded() -> MutexGuard<'static, Library> {
    let library = CUDA.get_or_init(|| Mutex::new(load("libcuda.so.1")));
    library.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program's CUDA: the primary contexts are active, that of device 0 is the current one of this thread.
pub fn cuda() -> Cuda {
    let library = loaded();
    assert_eq!(call!(library, cuInit(0 => u32) -> c_int), 0);
    let mut contexts = Vec::new();
    for device in 0..2 {
        let mut context = 0_usize;
        assert_eq!(
            call!(library, cuDevicePrimaryCtxRetain(&mut context => *mut usize, device => c_int) -> c_int),
            0
        );
        contexts.push(context);
    }
    let cuda = Cuda { library, contexts };
    for name in [
        "register_piece",
        "register_count",
        "register_refused",
        "pinned_refused",
        "late",
        "pageable",
        "planes_refused",
    ] {
        cuda.set(name, 0);
    }
    cuda.make_current(cuda.contexts[0]);
    cuda
}

impl Drop for Cuda {
    fn drop(&mut self) {
        for device in 0..2 {
            call!(self.library, cuDevicePrimaryCtxReset_v2(device => c_int) -> c_int);
        }
    }
}

impl Cuda {
    pub fn set(&self, name: &str, value: c_long) {
        let name = CString::new(name).unwrap();
        call!(self.library, fake_set(name.as_ptr() => *const i8, value => c_long) -> ());
    }

    pub fn fail(&self, name: &str, n: c_int, code: c_int) {
        let name = CString::new(name).unwrap();
        call!(self.library, fake_fail(name.as_ptr() => *const i8, n => c_int, code => c_int) -> ());
    }

    pub fn calls(&self, name: &str) -> c_int {
        let name = CString::new(name).unwrap();
        call!(self.library, fake_calls(name.as_ptr() => *const i8) -> c_int)
    }

    /// The functions that were called since the beginning.
    pub fn called(&self) -> Vec<String> {
        let mut text = vec![0_u8; 1 << 14];
        call!(self.library, fake_called(text.as_mut_ptr() => *mut u8, text.len() => usize) -> ());
        let text = CStr::from_bytes_until_nul(&text).unwrap().to_str().unwrap();
        text.lines()
            .map(|line| line.split(' ').next().unwrap().to_string())
            .collect()
    }

    pub fn make_current(&self, context: usize) {
        assert_eq!(
            call!(self.library, cuCtxSetCurrent(context => usize) -> c_int),
            0
        );
    }

    pub fn current(&self) -> (usize, c_int) {
        let current = call!(self.library, fake_current() -> usize);
        (current, call!(self.library, fake_depth() -> c_int))
    }

    pub fn registered(&self) -> c_int {
        call!(self.library, fake_registered() -> c_int)
    }

    pub fn pinned(&self) -> c_int {
        call!(self.library, fake_pinned() -> c_int)
    }

    pub fn streams(&self) -> c_int {
        call!(self.library, fake_streams() -> c_int)
    }

    pub fn pending(&self) -> c_int {
        call!(self.library, fake_pending() -> c_int)
    }

    /// Memory of the current context, with these bytes.
    pub fn memory(&self, bytes: &[u8]) -> usize {
        let mut address = 0_usize;
        let code = call!(self.library, cuMemAlloc_v2(&mut address => *mut usize, bytes.len() => usize) -> c_int);
        assert_eq!(code, 0);
        self.fill(address, bytes);
        address
    }

    pub fn managed(&self, bytes: &[u8]) -> usize {
        let mut address = 0_usize;
        let code = call!(self.library, cuMemAllocManaged(&mut address => *mut usize, bytes.len() => usize, 1 => u32) -> c_int);
        assert_eq!(code, 0);
        self.fill(address, bytes);
        address
    }

    /// Memory without a context, of the device of the current one.
    pub fn pooled(&self, bytes: &[u8]) -> usize {
        let mut address = 0_usize;
        let code = call!(self.library, cuMemAllocAsync(&mut address => *mut usize, bytes.len() => usize, 0 => usize) -> c_int);
        assert_eq!(code, 0);
        self.fill(address, bytes);
        address
    }

    pub fn host(&self, size: usize) -> *mut u8 {
        let mut address = ptr::null_mut();
        let code = call!(self.library, cuMemHostAlloc(&mut address => *mut *mut u8, size => usize, 0 => u32) -> c_int);
        assert_eq!(code, 0);
        address
    }

    pub fn free(&self, address: usize) {
        assert_eq!(
            call!(self.library, cuMemFree_v2(address => usize) -> c_int),
            0
        );
    }

    /// Writes the bytes of a device at once, whatever is queued.
    pub fn fill(&self, address: usize, bytes: &[u8]) {
        let real = call!(self.library, fake_bytes(address => usize) -> *mut u8);
        // SAFETY: allocated with at least this size.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), real, bytes.len()) };
    }

    /// The bytes of a device as they are, whatever is queued.
    pub fn bytes(&self, address: usize, size: usize) -> Vec<u8> {
        let real = call!(self.library, fake_bytes(address => usize) -> *const u8);
        // SAFETY: allocated with at least this size.
        unsafe { std::slice::from_raw_parts(real, size).to_vec() }
    }

    pub fn stream(&self, flags: u32) -> usize {
        let mut stream = 0_usize;
        assert_eq!(
            call!(self.library, cuStreamCreate(&mut stream => *mut usize, flags => u32) -> c_int),
            0
        );
        stream
    }

    /// Keeps a stream busy for a time.
    pub fn slow(&self, stream: usize, microseconds: c_long) {
        assert_eq!(
            call!(self.library, fake_slow(stream => usize, microseconds => c_long) -> c_int),
            0
        );
    }

    /// Begins a kernel that adds 1 to bytes.
    pub fn add_one(&self, address: usize, size: u64, stream: usize) {
        const TEXT: &CStr =
            c".version 7.0\n.visible .entry add_one(.param .u64 data, .param .u64 size) { ret; }";
        unsafe extern "C" fn add_one(
            parameters: *mut *mut c_void,
            _: u32,
            _: u32,
            _: u32,
            _: u32,
            _: u32,
            _: u32,
        ) {
            // SAFETY: the parameters of the launch below.
            unsafe {
                let data = **parameters.cast::<*mut *mut u8>();
                let size = **parameters.add(1).cast::<*mut u64>();
                for byte in std::slice::from_raw_parts_mut(data, size as usize) {
                    *byte = byte.wrapping_add(1);
                }
            }
        }
        call!(self.library, fake_kernel(c"add_one".as_ptr() => *const i8, add_one => Kernel) -> ());
        let (mut module, mut function) = (0_usize, 0_usize);
        let code = call!(self.library, cuModuleLoadData(&mut module => *mut usize, TEXT.as_ptr() => *const i8) -> c_int);
        assert_eq!(code, 0);
        let code = call!(self.library, cuModuleGetFunction(&mut function => *mut usize, module => usize, c"add_one".as_ptr() => *const i8) -> c_int);
        assert_eq!(code, 0);
        let mut parameters = [
            ptr::from_ref(&address).cast_mut().cast::<c_void>(),
            ptr::from_ref(&size).cast_mut().cast(),
        ];
        let code = call!(self.library, cuLaunchKernel(
            function => usize, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 1 => u32, 0 => u32,
            stream => usize, parameters.as_mut_ptr() => *mut *mut c_void, ptr::null_mut() => *mut *mut c_void) -> c_int);
        assert_eq!(code, 0);
    }

    /// Begins a copy of the program.
    pub fn copy_down(&self, to: *mut u8, from: usize, size: usize, stream: usize) {
        let code = call!(self.library, cuMemcpyDtoHAsync_v2(to => *mut u8, from => usize, size => usize, stream => usize) -> c_int);
        assert_eq!(code, 0);
    }
}

/// Bytes that do not repeat.
pub fn pattern(size: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; size];
    for (at, word) in bytes.chunks_mut(8).enumerate() {
        let value = (at as u64 + 1 + (seed << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        word.copy_from_slice(&(value ^ value >> 29).to_le_bytes()[..word.len()]);
    }
    bytes
}
