//! The files of a module, as its `mod` lines name them: so code of tests and of other machines is left out.

use crate::{Result, Source, find};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, Meta};

/// True for what is compiled into the library on this machine. What depends on any other condition is
/// left out.
pub fn is_compiled(attributes: &[Attribute]) -> bool {
    attributes.iter().all(|attribute| {
        if attribute.path().is_ident("test") {
            return false;
        }
        if !attribute.path().is_ident("cfg") {
            return true;
        }
        match &attribute.meta {
            Meta::List(list) => {
                let condition = list.tokens.to_string();
                condition == format!("target_arch = \"{}\"", std::env::consts::ARCH)
            }
            _ => false,
        }
    })
}

/// The files of a module such as `cache`, `format/tree` or `jobs/transfers`, and of the modules in it.
pub fn of_module(tree: &Path, module: &str) -> Result<Vec<Source>> {
    let package = if module.starts_with("jobs/") {
        ""
    } else {
        "src/"
    };
    let file = PathBuf::from(format!("{package}{module}.rs"));
    let folder = PathBuf::from(format!("{package}{module}/mod.rs"));
    let first = [folder, file]
        .into_iter()
        .find(|path| tree.join(path).is_file())
        .ok_or_else(|| format!("there is no module {module}"))?;
    let mut sources = Vec::new();
    let mut open = vec![first];
    while let Some(path) = open.pop() {
        let text = fs::read_to_string(tree.join(&path))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let parsed =
            syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        open.extend(inner_modules(tree, &path, &parsed.items));
        let mutants = find::mutants(&text, &parsed);
        sources.push(Source {
            name: path.display().to_string(),
            text,
            mutants,
        });
    }
    Ok(sources)
}

fn inner_modules(tree: &Path, path: &Path, items: &[Item]) -> Vec<PathBuf> {
    let folder = if path.file_name().is_some_and(|name| name == "mod.rs") {
        path.with_file_name("")
    } else {
        path.with_extension("")
    };
    let inner = items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && is_compiled(&module.attrs) => {
            let one = folder.join(format!("{}.rs", module.ident));
            let many = folder.join(module.ident.to_string()).join("mod.rs");
            [one, many]
                .into_iter()
                .find(|path| tree.join(path).is_file())
        }
        _ => None,
    });
    inner.collect()
}
