//! Conversions of elements in which nothing is lost.

use super::kind::{Class, Kind};

/// True if every value of kind `from` has the same value as kind `to`.
pub fn is_lossless(from: Kind, to: Kind) -> bool {
    let (a, b) = (from.size(), to.size());
    match (from.class(), to.class()) {
        _ if from == to => true,
        (Class::Integer, Class::Integer) | (Class::Unsigned, Class::Unsigned) => a < b,
        (Class::Unsigned, Class::Integer) => a < b,
        (Class::Integer | Class::Unsigned, Class::Real) => a <= 4 && b == 8 || a <= 2 && b == 4,
        (Class::Real, Class::Real) => (a, b) == (4, 8),
        (Class::Complex, Class::Complex) => (a, b) == (8, 16),
        (Class::Logical, Class::Logical) => a < b,
        (Class::Character, Class::Character) => a <= b,
        _ => false,
    }
}

/// The elements of `data` as kind `to`. [`is_lossless`] has allowed it.
pub fn convert(from: Kind, to: Kind, data: &[u8]) -> Vec<u8> {
    let (a, b) = (from.size() as usize, to.size() as usize);
    if from == to || a == 0 {
        return data.to_vec();
    }
    let mut out = Vec::with_capacity(data.len() / a * b);
    for element in data.chunks_exact(a) {
        match (from.class(), to.class()) {
            (Class::Character, _) => {
                out.extend_from_slice(element);
                out.resize(out.len() + b - a, b' ');
            }
            (Class::Real | Class::Complex, _) => {
                for part in element.as_chunks::<4>().0 {
                    out.extend(f64::from(f32::from_le_bytes(*part)).to_le_bytes());
                }
            }
            (class, Class::Real) => {
                let value = integer(class, element);
                match b {
                    4 => out.extend((value as f32).to_le_bytes()),
                    _ => out.extend((value as f64).to_le_bytes()),
                }
            }
            (class, _) => {
                out.extend_from_slice(element);
                let negative = class != Class::Unsigned && integer(class, element) < 0;
                out.resize(out.len() + b - a, if negative { 0xff } else { 0 });
            }
        }
    }
    out
}

/// The value of an integer of at most 16 bytes.
fn integer(class: Class, element: &[u8]) -> i128 {
    let signed = class != Class::Unsigned;
    let negative = signed && element.last().is_some_and(|byte| *byte >= 0x80);
    let mut bytes = [if negative { 0xff } else { 0 }; 16];
    for (place, byte) in bytes.iter_mut().zip(element) {
        *place = *byte;
    }
    i128::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::{convert, is_lossless};
    use crate::fields::kind::{Class, Kind};

    #[test]
    fn values_stay_what_they_are() {
        let kind = Kind::new;
        let as_f64 = |from, data: &[u8]| {
            let out = convert(from, kind(Class::Real, 8), data);
            f64::from_le_bytes(out.try_into().unwrap())
        };
        assert_eq!(
            as_f64(kind(Class::Integer, 4), &(-7i32).to_le_bytes()),
            -7.0
        );
        assert_eq!(
            as_f64(kind(Class::Unsigned, 4), &u32::MAX.to_le_bytes()),
            4_294_967_295.0
        );
        assert_eq!(
            as_f64(kind(Class::Real, 4), &0.1f32.to_le_bytes()),
            f64::from(0.1f32)
        );
        let wide = |from, to, data: &[u8]| convert(from, to, data);
        let (i2, i8, u2) = (
            kind(Class::Integer, 2),
            kind(Class::Integer, 8),
            kind(Class::Unsigned, 2),
        );
        assert_eq!(wide(i2, i8, &(-3i16).to_le_bytes()), (-3i64).to_le_bytes());
        assert_eq!(
            wide(u2, i8, &65_533u16.to_le_bytes()),
            65_533i64.to_le_bytes()
        );
        let (short, long) = (kind(Class::Character, 2), kind(Class::Character, 4));
        assert_eq!(wide(short, long, b"abcd"), b"ab  cd  ");
    }

    #[test]
    fn what_may_lose_something_is_not_converted() {
        let kind = Kind::new;
        for (from, to) in [
            (kind(Class::Integer, 8), kind(Class::Integer, 4)),
            (kind(Class::Integer, 8), kind(Class::Real, 8)),
            (kind(Class::Integer, 4), kind(Class::Real, 4)),
            (kind(Class::Integer, 4), kind(Class::Unsigned, 8)),
            (kind(Class::Real, 8), kind(Class::Real, 4)),
            (kind(Class::Real, 4), kind(Class::Complex, 8)),
            (kind(Class::Character, 4), kind(Class::Character, 2)),
            (kind(Class::Bytes, 4), kind(Class::Bytes, 8)),
        ] {
            assert!(!is_lossless(from, to), "{from} to {to}");
        }
    }
}
