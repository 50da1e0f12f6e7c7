//! A buffer for reading.

const PAGE: usize = 4096;

/// Memory that begins at a page. Memory of the allocator begins 16 bytes behind one if it is large, and to copy pages of a file
/// to there took a processor a quarter longer: it mistakes what it stores for what it loads next.
#[derive(Debug, Default)]
pub struct PageBuffer(Vec<u8>);

impl PageBuffer {
    /// `length` bytes, with any content.
    pub fn get(&mut self, length: usize) -> &mut [u8] {
        let needed = length.saturating_add(PAGE);
        if self.0.len() < needed {
            self.0.resize(needed, 0);
        }
        let skip = self.0.as_ptr().align_offset(PAGE).min(PAGE);
        self.0.get_mut(skip..skip + length).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, PageBuffer};

    #[test]
    fn it_begins_at_a_page_however_often_it_grows() {
        let mut buffer = PageBuffer::default();
        for length in [0, 1, 5000, 1 << 20, 3, 3 << 20] {
            let bytes = buffer.get(length);
            assert_eq!(bytes.len(), length);
            assert!(bytes.is_empty() || bytes.as_ptr().addr() % PAGE == 0);
        }
    }
}
