//! Leaves out what is a part of another leaf.

use super::walk::Leaf;

/// The bytes of a leaf, and the distance of its elements, if that is one.
struct Span {
    begin: u64,
    end: u64,
    stride: Option<u64>,
}

impl Span {
    fn new(leaf: &Leaf) -> Option<Self> {
        let (before, after) = leaf.reach()?;
        let begin = leaf.address.checked_sub(before)?;
        let end = leaf.address.checked_add(after)?;
        let packed = end - begin == leaf.count().checked_mul(leaf.size)?;
        let stride = match leaf.dims[..] {
            _ if packed => Some(leaf.size),
            [(_, stride)] => Some(stride.unsigned_abs()),
            _ => None,
        };
        Some(Span { begin, end, stride })
    }
}

/// Leaves out each leaf all of whose elements are those of another one: of an array, where a pointer points into it. Else a pointer
/// that points elsewhere later would be a variable that differs.
pub(super) fn leave_out_covered(leaves: &mut Vec<Leaf>) {
    let mut order: Vec<(Span, usize)> = Vec::new();
    for (number, leaf) in leaves.iter().enumerate() {
        let span = Span::new(leaf).filter(|_| leaf.value.is_none() && leaf.size > 0);
        order.extend(span.map(|span| (span, number)));
    }
    order.sort_by_key(|(span, _)| (span.begin, u64::MAX - span.end));
    let mut keep = vec![true; leaves.len()];
    // Those that reach beyond the leaf at hand.
    let mut open: Vec<&(Span, usize)> = Vec::new();
    for one in &order {
        open.retain(|(span, _)| span.end > one.0.begin);
        let Some(leaf) = leaves.get(one.1) else {
            continue;
        };
        let within = |(span, number): &(Span, usize)| {
            leaves
                .get(*number)
                .is_some_and(|other| is_part(&one.0, leaf, span, other))
        };
        if open.iter().any(|other| within(other)) {
            if let Some(keep) = keep.get_mut(one.1) {
                *keep = false;
            }
        } else if leaf.count() > 1 && one.0.stride.is_some_and(|stride| stride > 0) {
            open.push(one);
        }
    }
    let mut keep = keep.into_iter();
    leaves.retain(|_| keep.next().unwrap_or(true));
}

fn is_part(own: &Span, leaf: &Leaf, span: &Span, other: &Leaf) -> bool {
    let Some(stride) = span.stride else {
        return false;
    };
    let alike = (leaf.kind, leaf.size, leaf.bits) == (other.kind, other.size, other.bits);
    let on_elements = |distance: u64| distance.is_multiple_of(stride);
    alike
        // What is in a frame counts less.
        && (leaf.local || !other.local)
        && own.begin >= span.begin
        && own.end <= span.end
        && on_elements(own.begin - span.begin)
        && leaf.dims.iter().all(|(count, stride)| *count == 1 || on_elements(stride.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::Kind;

    fn leaf(name: &str, address: u64, dims: &[(u64, i64)], local: bool) -> Leaf {
        Leaf {
            key: name.into(),
            shown: name.into(),
            place: String::new(),
            type_name: "double".into(),
            kind: Kind::Real,
            size: 8,
            address,
            value: None,
            dims: dims.to_vec(),
            by_column: false,
            bits: None,
            slack: 0,
            local,
        }
    }

    #[test]
    fn what_is_a_part_of_another_leaf_is_left_out() {
        let mut leaves = vec![
            leaf("element", 1016, &[], false),
            leaf("field", 1000, &[(4, 80), (10, 8)], false),
            leaf("every second row", 1000, &[(2, 160), (10, 8)], false),
            leaf("beyond", 1312, &[(2, 8)], false),
            leaf("backwards", 1312, &[(40, -8)], false),
            leaf("between", 1020, &[], false),
            leaf("records", 2000, &[(5, 24)], false),
            leaf("record", 2048, &[], false),
            leaf("records backwards", 2048, &[(2, -24)], true),
            leaf("another member", 2056, &[], false),
            leaf("local", 3000, &[(9, 8)], true),
            leaf("pointed", 3008, &[], false),
        ];
        leave_out_covered(&mut leaves);
        let left: Vec<&str> = leaves.iter().map(|one| one.shown.as_str()).collect();
        let wanted = [
            "field",
            "beyond",
            "between",
            "records",
            "another member",
            "local",
            "pointed",
        ];
        assert_eq!(left, wanted);
    }
}
