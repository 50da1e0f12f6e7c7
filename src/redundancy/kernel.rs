//! The arithmetic of the schemes, on slices.

/// `dst ^= src`, over the length of the shorter one.
///
/// Written over machine words, which compilers turn into vector instructions.
pub fn xor_into(dst: &mut [u8], src: &[u8]) {
    let length = dst.len().min(src.len());
    let (dst_words, dst_rest) = dst[..length].as_chunks_mut::<8>();
    let (src_words, src_rest) = src[..length].as_chunks::<8>();
    for (d, s) in dst_words.iter_mut().zip(src_words) {
        *d = (u64::from_ne_bytes(*d) ^ u64::from_ne_bytes(*s)).to_ne_bytes();
    }
    for (d, s) in dst_rest.iter_mut().zip(src_rest) {
        *d ^= s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_bytewise_xor_at_every_length_and_alignment() {
        let a: Vec<u8> = (0..400u32).map(|i| (i * 7 + 3) as u8).collect();
        let b: Vec<u8> = (0..400u32).map(|i| (i * 13 + 5) as u8).collect();
        for start in 0..9 {
            for length in 0..200 {
                let mut dst = a[start..start + length].to_vec();
                xor_into(&mut dst, &b[3..3 + length]);
                for (i, byte) in dst.iter().enumerate() {
                    assert_eq!(
                        *byte,
                        a[start + i] ^ b[3 + i],
                        "start {start}, byte {i} of {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_longer_slice_keeps_its_tail() {
        let mut dst = [1u8; 20];
        xor_into(&mut dst, &[1; 11]);
        assert_eq!(dst[..11], [0; 11]);
        assert_eq!(dst[11..], [1; 9]);
        xor_into(&mut dst[..3], &[7; 9]);
        assert_eq!(dst[..4], [7, 7, 7, 0]);
    }
}
