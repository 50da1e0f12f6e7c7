//! What a function may return instead of doing its work.

use syn::{GenericArgument, PathArguments, ReturnType, Type};

/// Expressions of the return type. Empty for types of which no value is known here.
pub fn instead(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec!["()".to_string()],
        ReturnType::Type(_, kind) => values(kind),
    }
}

fn values(kind: &Type) -> Vec<String> {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
    let path = match kind {
        Type::Tuple(tuple) if tuple.elems.is_empty() => return texts(&["()"]),
        Type::Path(path) => path,
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => return texts(&["\"\"", "\"xyzzy\""]),
            _ => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let Some(last) = path.path.segments.last() else {
        return Vec::new();
    };
    let name = last.ident.to_string();
    let within = || match &last.arguments {
        PathArguments::AngleBracketed(list) => list.args.iter().find_map(|arg| match arg {
            GenericArgument::Type(kind) => Some(values(kind)),
            _ => None,
        }),
        _ => None,
    };
    match name.as_str() {
        "bool" => texts(&["true", "false"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => texts(&["0", "1"]),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => texts(&["0", "1", "-1"]),
        "f32" | "f64" => texts(&["0.0", "1.0", "-1.0"]),
        "String" => texts(&["String::new()", "\"xyzzy\".into()"]),
        "Vec" => texts(&["vec![]"]),
        "BTreeMap" | "BTreeSet" => texts(&["Default::default()"]),
        "Option" => {
            let inner = within().unwrap_or_default();
            let some = inner.iter().map(|value| format!("Some({value})"));
            std::iter::once("None".to_string()).chain(some).collect()
        }
        "Result" => match within() {
            None => texts(&["Ok(Default::default())"]),
            Some(inner) => inner.iter().map(|value| format!("Ok({value})")).collect(),
        },
        _ => Vec::new(),
    }
}
