//! Copying memory that is not used soon.

/// Copies `from` to the begin of `to` by stores that do not read what they overwrite, and that leave the processor's caches
/// as they are. Nothing is copied if `to` is shorter.
#[cfg(target_arch = "x86_64")]
pub fn copy_past_caches(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let Some(to) = to.get_mut(..from.len()) else {
        return;
    };
    // SAFETY: any bytes are a value of the type.
    let (head, middle, tail) = unsafe { to.align_to_mut::<__m128i>() };
    let (first, rest) = from.split_at(head.len());
    head.copy_from_slice(first);
    let (rest, last) = rest.split_at(size_of_val(middle));
    tail.copy_from_slice(last);
    for (target, source) in middle.iter_mut().zip(rest.as_chunks::<16>().0) {
        // SAFETY: all of the source can be read, and the target can be written and is aligned. Every x86-64 has SSE2.
        unsafe { _mm_stream_si128(target, _mm_loadu_si128(source.as_ptr().cast())) };
    }
    // The copy is visible to a thread that hears of it later.
    // SAFETY: every x86-64 has SSE.
    unsafe { _mm_sfence() };
}

/// Copies `from` to the begin of `to`. Nothing is copied if `to` is shorter.
#[cfg(not(target_arch = "x86_64"))]
pub fn copy_past_caches(to: &mut [u8], from: &[u8]) {
    if let Some(to) = to.get_mut(..from.len()) {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::copy_past_caches;

    #[test]
    fn all_is_copied_wherever_it_begins_and_ends() {
        let from: Vec<u8> = (0..300).map(|at| at as u8).collect();
        for begin in 0..20 {
            for end in [begin, begin + 1, begin + 15, begin + 16, begin + 100, 280] {
                for shift in 0..20 {
                    let mut to = vec![0xee; 320];
                    let mut expected = to.clone();
                    let length = end - begin;
                    expected[shift..shift + length].copy_from_slice(&from[begin..end]);
                    copy_past_caches(&mut to[shift..], &from[begin..end]);
                    assert_eq!(to, expected, "{begin}..{end} to {shift}");
                }
            }
        }
    }
}
