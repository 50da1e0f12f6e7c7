//! Trees as text.

use super::{Name, Tree};
use crate::text::escaped_bytes;

/// The way in which a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Like any other element, in a line of its own.
    Tree,
    /// `KEY = value` in one line, where a key has one value.
    KeyVal,
}

/// A line for each element, indented by two blanks for each level and two more, in the order of
/// [`Name`]. Control characters are escaped.
pub fn print(tree: &Tree, style: Style) -> String {
    let mut out = String::new();
    lines(&mut out, tree, style, 2);
    out
}

fn lines(out: &mut String, tree: &Tree, style: Style, indent: usize) {
    for (name, sub) in tree.iter() {
        let start = format!("{:indent$}{}", "", escaped(name));
        match value(sub).filter(|_| style == Style::KeyVal) {
            Some(value) => {
                out.push_str(&format!("{start} = {}\n", escaped(value)));
            }
            None => {
                out.push_str(&format!("{start}\n"));
                lines(out, sub, style, indent + 2);
            }
        }
    }
}

fn value(tree: &Tree) -> Option<&Name> {
    tree.sole()
        .filter(|name| tree.get(*name).is_some_and(Tree::is_empty))
}

/// A name as text in one line; see [`text`](crate::text).
pub fn escaped(name: &Name) -> String {
    escaped_bytes(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut location = Tree::new();
        location.set("PFS", Tree::new()).set("CACHE", Tree::new());
        let mut dataset = Tree::new();
        dataset.set_value("NAME", "ck.1").set("LOCATION", location);
        let mut datasets = Tree::new();
        datasets
            .set("10", dataset.clone())
            .set("9", Tree::of_value("x"));
        let mut tree = Tree::new();
        tree.set("DATASET", datasets);
        tree
    }

    #[test]
    fn one_line_for_each_value() {
        let text = "  DATASET\n    9 = x\n    10\n      LOCATION\n        CACHE\n        PFS\n      \
                    NAME = ck.1\n";
        assert_eq!(print(&tree(), Style::KeyVal), text);
    }

    #[test]
    fn one_line_for_each_element() {
        let text = "  DATASET\n    9\n      x\n    10\n      LOCATION\n        CACHE\n        PFS\n      \
                    NAME\n        ck.1\n";
        assert_eq!(print(&tree(), Style::Tree), text);
    }

    #[test]
    fn names_cannot_upset_a_terminal() {
        let name = Name::new(&b"a\x1b[31m\nb\xff\xc2\x85\xc3\xa9"[..]);
        assert_eq!(escaped(&name), "a\\x1b[31m\\x0ab\\xff\\xc2\\x85é");
    }
}
