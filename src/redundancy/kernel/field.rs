//! Arithmetic in the field of 256 elements with polynomial 0x11D, as in SCR v3.1.0, so that parity
//! files can be compared. Simple code that all engines are tested against.

/// The product.
pub const fn mul(a: u8, b: u8) -> u8 {
    let (mut a, mut b, mut product) = (a, b, 0);
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        // Multiplies by x; a carry is replaced by x^8 = x^4 + x^3 + x^2 + 1.
        let carry = a & 0x80 != 0;
        a <<= 1;
        if carry {
            a ^= 0x1d;
        }
        b >>= 1;
    }
    product
}

/// `base` to the power `exponent`; anything to the power 0 is 1.
pub const fn power(base: u8, exponent: usize) -> u8 {
    let mut result = 1;
    // The non-zero elements form a group of 255.
    let mut left = if base == 0 && exponent > 0 {
        return 0;
    } else {
        exponent % 255
    };
    while left > 0 {
        result = mul(result, base);
        left -= 1;
    }
    result
}

/// The multiplicative inverse. 0 has no inverse: the result is 0.
pub const fn inverse(a: u8) -> u8 {
    power(a, 254)
}

/// Multiplication by one element, in the forms that engines use.
pub(super) struct Factor {
    pub value: u8,
    /// The products of `value` with 0 to 15.
    pub low: [u8; 16],
    /// The products of `value` with 0, 16, 32 to 240.
    pub high: [u8; 16],
    /// The multiplication as a linear map of bits: row `i` of the matrix is byte `7 - i`.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    pub affine: u64,
}

const fn factor(value: u8) -> Factor {
    let (mut low, mut high, mut affine) = ([0; 16], [0; 16], 0u64);
    let mut i = 0;
    while i < 16 {
        low[i] = mul(value, i as u8);
        high[i] = mul(value, (i as u8) << 4);
        i += 1;
    }
    let mut bit = 0;
    while bit < 8 {
        let column = mul(value, 1 << bit);
        let mut row = 0;
        while row < 8 {
            if column >> row & 1 != 0 {
                affine |= 1 << ((7 - row) * 8 + bit);
            }
            row += 1;
        }
        bit += 1;
    }
    Factor {
        value,
        low,
        high,
        affine,
    }
}

/// All factors; entry `c` multiplies by `c`.
pub(super) static FACTORS: [Factor; 256] = {
    let mut all = [const { factor(0) }; 256];
    let mut value = 1;
    while value < 256 {
        all[value] = factor(value as u8);
        value += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_field() {
        for a in 0..=255u8 {
            assert_eq!((mul(a, 1), mul(a, 0)), (a, 0));
            assert_eq!(mul(a, inverse(a)), u8::from(a != 0));
            for b in 0..=255u8 {
                assert_eq!(mul(a, b), mul(b, a));
                for c in [2, 3, 29, 142, 255] {
                    assert_eq!(mul(a, b ^ c), mul(a, b) ^ mul(a, c));
                    assert_eq!(mul(mul(a, b), c), mul(a, mul(b, c)));
                }
            }
        }
        assert_eq!(mul(2, 0x80), 0x1d);
        let by_hand = [1, 3, 5, 15, 17];
        for (exponent, value) in by_hand.into_iter().enumerate() {
            assert_eq!(power(3, exponent), value);
        }
        assert_eq!((power(0, 0), power(0, 3), power(7, 256)), (1, 0, 7));
    }
}
