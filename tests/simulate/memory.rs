//! Memory for many small objects. A fifth of the time of a job went into the system's allocator. This one keeps
//! blocks that were given back in lists of one size, for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

/// Sizes of blocks are multiples of this, bytes; it is their alignment, too.
const UNIT: usize = 16;

/// Larger blocks are the system's.
const LARGEST: usize = 1024;

/// What is taken from the system at a time, bytes.
const CHUNK: usize = 256 << 10;

const LISTS: usize = LARGEST / UNIT + 1;

struct Lists {
    /// By size in units: the first free block, in which the address of the next one stands.
    free: [Cell<*mut u8>; LISTS],
    /// The part of a chunk that was not used yet.
    rest: Cell<*mut u8>,
    left: Cell<usize>,
}

thread_local! {
    // Without a destructor: it can be used as long as the thread runs.
    static HERE: Lists = const {
        Lists {
            free: [const { Cell::new(null_mut()) }; LISTS],
            rest: Cell::new(null_mut()),
            left: Cell::new(0),
        }
    };
}

impl Lists {
    fn take(&self, units: usize) -> *mut u8 {
        let list = &self.free[units];
        let first = list.get();
        if !first.is_null() {
            // SAFETY: `give` has written the next address to this block, which nobody has used since.
            list.set(unsafe { first.cast::<*mut u8>().read() });
            return first;
        }
        let size = units * UNIT;
        if self.left.get() < size {
            // SAFETY: the layout is valid and not empty.
            let chunk = unsafe { System.alloc(Layout::from_size_align_unchecked(CHUNK, UNIT)) };
            if chunk.is_null() {
                return chunk;
            }
            self.rest.set(chunk);
            self.left.set(CHUNK);
        }
        let block = self.rest.get();
        // SAFETY: so much is left of the chunk.
        self.rest.set(unsafe { block.add(size) });
        self.left.set(self.left.get() - size);
        block
    }

    fn give(&self, block: *mut u8, units: usize) {
        let list = &self.free[units];
        // SAFETY: the block has at least one unit, aligned for an address, and nobody uses it any more.
        unsafe { block.cast::<*mut u8>().write(list.get()) };
        list.set(block);
    }
}

/// The size of its block, in units; none if it is the system's.
fn units(layout: Layout) -> Option<usize> {
    let small = layout.size() <= LARGEST && layout.align() <= UNIT;
    small.then(|| layout.size().div_ceil(UNIT).max(1))
}

struct Small;

#[global_allocator]
static ALLOCATOR: Small = Small;

// SAFETY: a block belongs to one list, of its size, or to who has it; chunks are never given back. Which list
// a block came from does not matter, only its size, which its layout tells.
unsafe impl GlobalAlloc for Small {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match units(layout) {
            Some(units) => HERE.with(|lists| lists.take(units)),
            // SAFETY: the caller's promises are passed on.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match units(layout) {
            Some(units) => HERE.with(|lists| lists.give(block, units)),
            // SAFETY: the caller's promises are passed on.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that makes a layout.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (units(layout), units(new)) {
            (Some(before), Some(after)) if before == after => block,
            // SAFETY: the caller's promises are passed on.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            // SAFETY: both blocks are valid for the smaller of both sizes, and differ.
            _ => unsafe {
                let moved = self.alloc(new);
                if !moved.is_null() {
                    block.copy_to_nonoverlapping(moved, size.min(layout.size()));
                    self.dealloc(block, layout);
                }
                moved
            },
        }
    }
}
