//! The value of an element: its text, and its distance from another one.

use scr_engine::fields::{Class, Kind};

/// The distance between two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Distance {
    /// The absolute value of the difference; infinite if one of them is infinite or no number.
    pub absolute: f64,
    /// This, divided by the greater of the absolute values.
    pub relative: f64,
    /// The greater of the absolute values.
    pub magnitude: f64,
    /// Number of steps from one representable number to the next; `None` for integers, and if one of the two
    /// is not a number.
    pub ulp: Option<u128>,
}

impl Distance {
    /// The greater of both, in each respect.
    pub fn max(self, other: Distance) -> Distance {
        Distance {
            absolute: self.absolute.max(other.absolute),
            relative: self.relative.max(other.relative),
            magnitude: self.magnitude.max(other.magnitude),
            ulp: self.ulp.max(other.ulp),
        }
    }
}

/// A number in a binary floating-point format, or an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    /// The sign, and mantissa times two to the exponent. `place` counts the numbers of the format between this
    /// number and zero.
    Finite {
        negative: bool,
        mantissa: u128,
        exponent: i32,
        place: u128,
    },
    Infinite {
        negative: bool,
        place: u128,
    },
    Nan,
}

/// A floating-point format.
#[derive(Debug, Clone, Copy)]
struct Format {
    /// Bits of the mantissa that are stored, without one before the point.
    fraction: u32,
    /// Bits of the exponent.
    exponent: u32,
    /// The bit before the point is stored.
    explicit: bool,
}

/// The parts of an element: a complex one has two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parts {
    /// Bytes of a part.
    step: usize,
    /// Number of the first bytes that are its value. The rest is padding.
    value: usize,
}

impl Parts {
    pub(super) fn of(kind: Kind) -> Self {
        Parts {
            step: kind.number_bytes(),
            value: kind.value_bytes(),
        }
    }

    /// The bytes of each part that are its value.
    pub(super) fn values(self, element: &[u8]) -> impl Iterator<Item = &[u8]> {
        let parts = element.chunks(self.step.max(1));
        parts.map(move |part| part.get(..self.value).unwrap_or(part))
    }
}

fn format(kind: Kind) -> Option<Format> {
    let of = |fraction, exponent, explicit| {
        Some(Format {
            fraction,
            exponent,
            explicit,
        })
    };
    let of_ieee = |bytes| match bytes {
        2 => of(10, 5, false),
        4 => of(23, 8, false),
        8 => of(52, 11, false),
        16 => of(112, 15, false),
        _ => None,
    };
    match kind.class() {
        Class::Real => of_ieee(kind.size()),
        Class::Complex => of_ieee(kind.size() / 2),
        Class::Extended | Class::ExtendedComplex => of(63, 15, true),
        _ => None,
    }
}

/// Bytes as a number, the lowest first.
fn bits(bytes: &[u8]) -> u128 {
    let mut all = [0; 16];
    let length = bytes.len().min(all.len());
    all[..length].copy_from_slice(&bytes[..length]);
    u128::from_le_bytes(all)
}

impl Format {
    fn number(self, bytes: &[u8]) -> Number {
        let bits = bits(bytes);
        let stored = self.fraction + u32::from(self.explicit);
        let biased = (bits >> stored) as u32 & ((1 << self.exponent) - 1);
        let negative = bits >> (stored + self.exponent) & 1 == 1;
        let fraction = bits & ((1 << self.fraction) - 1);
        let place = u128::from(biased) << self.fraction | fraction;
        let bias = (1 << (self.exponent - 1)) - 1;
        if biased == (1 << self.exponent) - 1 {
            return match fraction {
                0 => Number::Infinite { negative, place },
                _ => Number::Nan,
            };
        }
        let before = match (self.explicit, biased) {
            (true, _) => bits & 1 << self.fraction,
            (false, 0) => 0,
            (false, _) => 1 << self.fraction,
        };
        Number::Finite {
            negative,
            mantissa: before | fraction,
            exponent: biased.max(1) as i32 - bias - self.fraction as i32,
            place,
        }
    }
}

/// The integer of an element, as its sign and absolute value.
fn integer(kind: Kind, bytes: &[u8]) -> Number {
    let mut value = bits(bytes);
    let unused = 128 - 8 * bytes.len().clamp(1, 16) as u32;
    let negative = kind.class() == Class::Integer && ((value << unused) as i128) < 0;
    if negative {
        value = (((value << unused) as i128) >> unused).unsigned_abs();
    }
    Number::Finite {
        negative,
        mantissa: value,
        exponent: 0,
        place: 0,
    }
}

/// The numbers of an element. A complex element has two; text, logicals and plain bytes have no number.
fn numbers(kind: Kind, element: &[u8]) -> [Option<Number>; 2] {
    let format = format(kind);
    let mut parts = Parts::of(kind).values(element);
    let mut next = || {
        let bytes = parts.next()?;
        match (format, kind.class()) {
            (Some(format), _) => Some(format.number(bytes)),
            (None, Class::Integer | Class::Unsigned) => Some(integer(kind, bytes)),
            _ => None,
        }
    };
    [next(), next()]
}

/// Two to `exponent`, times `mantissa`.
fn scaled(mantissa: u128, exponent: i32) -> f64 {
    // Two steps, since two to the exponent may be out of range when the product is not.
    let half = exponent / 2;
    mantissa as f64 * power(half) * power(exponent - half)
}

/// Two to `exponent`.
fn power(exponent: i32) -> f64 {
    match exponent {
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        _ => 2f64.powi(exponent),
    }
}

impl Number {
    fn value(self) -> f64 {
        let signed = |negative, value: f64| if negative { -value } else { value };
        match self {
            Number::Finite {
                negative,
                mantissa,
                exponent,
                ..
            } => signed(negative, scaled(mantissa, exponent)),
            Number::Infinite { negative, .. } => signed(negative, f64::INFINITY),
            Number::Nan => f64::NAN,
        }
    }

    /// Sign and place among the numbers of the format.
    fn place(self) -> Option<(bool, u128)> {
        match self {
            Number::Finite {
                negative, place, ..
            }
            | Number::Infinite { negative, place } => Some((negative, place)),
            Number::Nan => None,
        }
    }
}

/// The absolute value of the difference, exact except for the last rounding wherever the numbers are near each
/// other.
fn difference(a: Number, b: Number) -> f64 {
    let (
        Number::Finite {
            negative: a_negative,
            mantissa: a_mantissa,
            exponent: a_exponent,
            ..
        },
        Number::Finite {
            negative: b_negative,
            mantissa: b_mantissa,
            exponent: b_exponent,
            ..
        },
    ) = (a, b)
    else {
        return if a.value() == b.value() {
            0.0
        } else {
            f64::INFINITY
        };
    };
    let low = a_exponent.min(b_exponent);
    let shifted = |mantissa: u128, exponent: i32| {
        let shift = (exponent - low) as u32;
        (mantissa == 0 || mantissa.leading_zeros() >= shift.saturating_add(1))
            .then(|| mantissa.checked_shl(shift).unwrap_or(0))
    };
    match (
        shifted(a_mantissa, a_exponent),
        shifted(b_mantissa, b_exponent),
    ) {
        (Some(a), Some(b)) if a_negative == b_negative => scaled(a.abs_diff(b), low),
        (Some(a), Some(b)) if a.checked_add(b).is_some() => scaled(a + b, low),
        _ => (a.value() - b.value()).abs(),
    }
}

fn distance_of(a: Number, b: Number, has_ulp: bool) -> Distance {
    let absolute = difference(a, b);
    let greatest = a.value().abs().max(b.value().abs());
    let ulp = match (a.place(), b.place()) {
        _ if !has_ulp => None,
        (Some((true, a)), Some((true, b))) | (Some((false, a)), Some((false, b))) => {
            Some(a.abs_diff(b))
        }
        (Some((_, a)), Some((_, b))) => Some(a + b),
        _ => None,
    };
    let relative = if absolute == 0.0 || absolute.is_infinite() {
        absolute
    } else {
        absolute / greatest
    };
    Distance {
        absolute,
        relative,
        magnitude: greatest,
        ulp,
    }
}

/// The distance between two numbers, without steps.
pub(crate) fn distance_of_numbers(a: f64, b: f64) -> Distance {
    let absolute = if a == b { 0.0 } else { (a - b).abs() };
    let absolute = if absolute.is_nan() {
        f64::INFINITY
    } else {
        absolute
    };
    let magnitude = a.abs().max(b.abs());
    let relative = if absolute == 0.0 || absolute.is_infinite() {
        absolute
    } else {
        absolute / magnitude
    };
    Distance {
        absolute,
        relative,
        magnitude,
        ulp: None,
    }
}

/// The distance between two elements; of complex ones, the distance of the part that is farther. `None` if
/// they are not numbers.
pub(super) fn distance(kind: Kind, a: &[u8], b: &[u8]) -> Option<Distance> {
    let has_ulp = format(kind).is_some();
    let pairs = numbers(kind, a).into_iter().zip(numbers(kind, b));
    let distances = pairs.filter_map(|(a, b)| Some(distance_of(a?, b?, has_ulp)));
    distances.reduce(Distance::max)
}

/// An element as text.
pub(super) fn text(kind: Kind, element: &[u8]) -> String {
    match (kind.class(), numbers(kind, element)) {
        (
            Class::Integer | Class::Unsigned,
            [
                Some(Number::Finite {
                    negative, mantissa, ..
                }),
                _,
            ],
        ) => format!("{}{mantissa}", if negative { "-" } else { "" }),
        (_, [Some(re), Some(im)]) => format!("({}, {})", real(kind, re), real(kind, im)),
        (_, [Some(number), None]) => real(kind, number),
        (Class::Character, _) => {
            let text = String::from_utf8_lossy(element.get(..MOST).unwrap_or(element));
            format!("\"{text}\"")
        }
        (Class::Logical, _) if element.iter().all(|byte| *byte == 0) => "false".to_string(),
        _ => {
            let shown = element.get(..MOST).unwrap_or(element);
            let digits: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("0x{digits}")
        }
    }
}

/// Bytes of an element that are printed.
const MOST: usize = 32;

fn real(kind: Kind, number: Number) -> String {
    let value = number.value();
    match (kind.class(), kind.size()) {
        (Class::Real, 2 | 4) | (Class::Complex, 4 | 8) => format!("{:?}", value as f32),
        _ => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Distance, Parts, distance, text};
    use scr_engine::fields::{Class, Kind};

    const F16: Kind = Kind::new(Class::Real, 2);
    const F32: Kind = Kind::new(Class::Real, 4);
    const F64: Kind = Kind::new(Class::Real, 8);
    const F128: Kind = Kind::new(Class::Real, 16);
    const X87: Kind = Kind::new(Class::Extended, 16);

    fn of_f64(a: f64, b: f64) -> Distance {
        distance(F64, &a.to_le_bytes(), &b.to_le_bytes()).unwrap()
    }

    #[test]
    fn distances_of_doubles_are_those_of_the_processor() {
        let next = |x: f64| f64::from_bits(x.to_bits() + 1);
        let numbers = [
            0.0,
            -0.0,
            1.0,
            next(1.0),
            -1.5,
            1e300,
            -1e300,
            1e-300,
            5e-324,
            f64::MIN_POSITIVE,
            f64::MAX,
            0.1,
            0.3,
        ];
        for a in numbers {
            for b in numbers {
                let found = of_f64(a, b);
                assert_eq!(found.absolute, (a - b).abs(), "{a:?} {b:?}");
                let signed = |x: f64| {
                    if x.is_sign_negative() {
                        -i128::from(x.abs().to_bits())
                    } else {
                        i128::from(x.to_bits())
                    }
                };
                let ulp = (signed(a) - signed(b)).unsigned_abs();
                assert_eq!(found.ulp, Some(ulp), "{a:?} {b:?}");
                let most = a.abs().max(b.abs());
                let relative = if a == b { 0.0 } else { (a - b).abs() / most };
                assert_eq!(found.relative, relative, "{a:?} {b:?}");
            }
        }
        let infinite = of_f64(f64::INFINITY, 1.0);
        assert_eq!(
            (infinite.absolute, infinite.relative),
            (f64::INFINITY, f64::INFINITY)
        );
        let no_number = of_f64(f64::NAN, 1.0);
        assert_eq!((no_number.absolute, no_number.ulp), (f64::INFINITY, None));
    }

    #[test]
    fn other_formats_are_known() {
        let of = |kind, a: &[u8], b: &[u8]| distance(kind, a, b).unwrap();
        // 1 and the next number: 2^-10, 2^-23, 2^-112, 2^-63 more.
        let half = of(F16, &0x3c00u16.to_le_bytes(), &0x3c01u16.to_le_bytes());
        assert_eq!((half.absolute, half.ulp), (2f64.powi(-10), Some(1)));
        let single = of(
            F32,
            &1f32.to_le_bytes(),
            &(1.0 + f32::EPSILON).to_le_bytes(),
        );
        assert_eq!((single.absolute, single.ulp), (2f64.powi(-23), Some(1)));
        let one = 0x3fffu128 << 112;
        let quad = of(F128, &one.to_le_bytes(), &(one + 1).to_le_bytes());
        assert_eq!((quad.absolute, quad.ulp), (2f64.powi(-112), Some(1)));
        let one = 0x3fffu128 << 64 | 1 << 63;
        let x87 = of(X87, &one.to_le_bytes(), &(one + 1).to_le_bytes());
        assert_eq!((x87.absolute, x87.ulp), (2f64.powi(-63), Some(1)));
        // The last number below 2, and 2.
        let last = 0x3fffu128 << 64 | u128::from(u64::MAX);
        let two = 0x4000u128 << 64 | 1 << 63;
        assert_eq!(
            of(X87, &last.to_le_bytes(), &two.to_le_bytes()).ulp,
            Some(1)
        );
        assert_eq!(text(X87, &two.to_le_bytes()), "2.0");
        let bytes: Vec<u8> = (0..24).collect();
        let complex = Parts::of(Kind::new(Class::ExtendedComplex, 24));
        let values: Vec<&[u8]> = complex.values(&bytes).collect();
        assert_eq!(values, [&bytes[..10], &bytes[12..22]]);
        let quarter = (0x3ffdu128 << 112).to_le_bytes();
        assert_eq!(text(F128, &quarter), "0.25");
    }

    #[test]
    fn integers_are_exact() {
        let i64_kind = Kind::new(Class::Integer, 8);
        let found = distance(i64_kind, &i64::MIN.to_le_bytes(), &i64::MAX.to_le_bytes()).unwrap();
        assert_eq!((found.absolute, found.ulp), (2f64.powi(64), None));
        assert_eq!(text(i64_kind, &(-7i64).to_le_bytes()), "-7");
        assert_eq!(
            text(i64_kind, &i64::MIN.to_le_bytes()),
            i64::MIN.to_string()
        );
        let wide = Kind::new(Class::Unsigned, 16);
        assert_eq!(text(wide, &u128::MAX.to_le_bytes()), u128::MAX.to_string());
        let wide = Kind::new(Class::Integer, 16);
        assert_eq!(text(wide, &i128::MIN.to_le_bytes()), i128::MIN.to_string());
        let byte = Kind::new(Class::Integer, 1);
        assert_eq!(distance(byte, &[0xff], &[1]).unwrap().absolute, 2.0);
    }

    #[test]
    fn what_is_no_number_has_a_text_and_no_distance() {
        let letters = Kind::new(Class::Character, 3);
        assert_eq!(distance(letters, b"abc", b"abd"), None);
        assert_eq!(text(letters, b"abc"), "\"abc\"");
        assert_eq!(text(Kind::new(Class::Bytes, 2), &[1, 0xab]), "0x01ab");
        assert_eq!(text(Kind::new(Class::Logical, 4), &[0; 4]), "false");
        let complex = Kind::new(Class::Complex, 8);
        let pair = |re: f32, im: f32| [re.to_le_bytes(), im.to_le_bytes()].concat();
        let found = distance(complex, &pair(1.0, 2.0), &pair(1.5, 4.0)).unwrap();
        assert_eq!((found.absolute, found.relative), (2.0, 0.5));
        assert_eq!(text(complex, &pair(1.0, -0.25)), "(1.0, -0.25)");
    }
}
