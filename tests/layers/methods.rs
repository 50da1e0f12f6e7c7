//! Methods by which a room of the session could use a room above it without naming it: an `impl` block may stand in
//! another room than its type, and `Session` has parts of all rooms.

use super::{ROOMS, Source, is_mark, none, read_paths, sources};
use proc_macro2::{Delimiter, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Functions of an `impl` block.
struct Impl {
    file: PathBuf,
    /// The room in which it stands; `None` for `session` itself, and outside of it.
    room: Option<usize>,
    /// The name of the type.
    of: String,
    body: Vec<TokenTree>,
    /// False for that of a trait.
    is_inherent: bool,
}

/// `receiver.name`, with what is known of the type of the receiver.
struct Access {
    line: usize,
    of: Option<String>,
    name: String,
    is_call: bool,
}

fn place(source: &Source) -> Option<usize> {
    match source.module.as_slice() {
        [session, room, ..] if session == "session" => {
            ROOMS.iter().position(|listed| listed == room)
        }
        _ => None,
    }
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(name) if name == word)
}

/// The names of the types that a file defines.
fn names_of_types(code: &[TokenTree]) -> impl Iterator<Item = String> {
    let pairs = code
        .windows(2)
        .filter(|pair| is_word(&pair[0], "struct") || is_word(&pair[0], "enum"));
    pairs.map(|pair| pair[1].to_string())
}

/// The `impl` blocks of a file, which are not within others.
fn impls(source: &Source) -> Vec<Impl> {
    let mut all = Vec::new();
    let mut rest = &source.code[..];
    while let Some(at) = rest.iter().position(|token| is_word(token, "impl")) {
        rest = &rest[at + 1..];
        let is_body = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        let Some(body) = rest.iter().position(is_body) else {
            break;
        };
        let head = &rest[..body];
        // An `impl` that is a type stands before a `;`, `,` or within parentheses.
        let split = head.iter().position(|token| is_word(token, "for"));
        let of = name_of_type(&head[split.map_or(0, |at| at + 1)..]);
        if let (Some(of), TokenTree::Group(group)) = (of, &rest[body]) {
            all.push(Impl {
                file: source.file.clone(),
                room: place(source),
                of,
                body: group.stream().into_iter().collect(),
                is_inherent: split.is_none(),
            });
        }
        rest = &rest[body + 1..];
    }
    all
}

/// The last name of a path, outside of `<` and `>`.
fn name_of_type(head: &[TokenTree]) -> Option<String> {
    let (mut depth, mut name) = (0, None);
    for token in head {
        match token {
            _ if is_word(token, "where") => break,
            TokenTree::Punct(mark) if mark.as_char() == '<' => depth += 1,
            TokenTree::Punct(mark) if mark.as_char() == '>' => depth -= 1,
            TokenTree::Ident(word) if depth == 0 => name = Some(word.to_string()),
            _ => {}
        }
    }
    name
}

impl Impl {
    /// The names of its methods, which take `self`.
    fn methods(&self) -> Vec<String> {
        let functions = self
            .body
            .iter()
            .enumerate()
            .filter(|(_, token)| is_word(token, "fn"));
        let takes_self = |at: usize| {
            let arguments = self.body[at..].iter().find_map(|token| match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                    Some(group.stream())
                }
                _ => None,
            });
            let first = arguments
                .into_iter()
                .flatten()
                .take_while(|token| !is_mark(token, ','));
            first.into_iter().any(|token| is_word(&token, "self"))
        };
        let named = functions.filter(|(at, _)| takes_self(*at));
        named
            .filter_map(|(at, _)| self.body.get(at + 1))
            .map(ToString::to_string)
            .collect()
    }
}

/// All methods that are called, and fields that are named, in the code of an `impl` block for the type `own`.
fn accesses(code: &[TokenTree], own: &str, found: &mut Vec<Access>) {
    for (at, token) in code.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            accesses(&group.stream().into_iter().collect::<Vec<_>>(), own, found);
        }
        let (TokenTree::Ident(name), Some(before)) = (token, at.checked_sub(2)) else {
            continue;
        };
        if !is_mark(&code[at - 1], '.') || is_mark(&code[before], '.') {
            continue;
        }
        // `self.part.name` is no access to the own type.
        let is_first = before == 0 || !is_mark(&code[before - 1], '.');
        let of = match &code[before] {
            token if is_word(token, "self") && is_first => Some(own.to_string()),
            token if is_word(token, "session") && is_first => Some("Session".to_string()),
            _ => None,
        };
        let is_call = match &code[at + 1..] {
            [TokenTree::Group(group), ..] => group.delimiter() == Delimiter::Parenthesis,
            [a, b, c, ..] => is_mark(a, ':') && is_mark(b, ':') && is_mark(c, '<'),
            _ => false,
        };
        found.push(Access {
            line: name.span().start().line,
            of,
            name: name.to_string(),
            is_call,
        });
    }
}

/// For each field of `Session`, the room of its type.
fn parts(session: &Source) -> BTreeMap<String, usize> {
    let mut rooms: BTreeMap<String, usize> = BTreeMap::new();
    let mut paths = Vec::new();
    for (at, token) in session.code.iter().enumerate() {
        if is_word(token, "use") {
            read_paths(&session.code[at + 1..], &[], &mut paths);
        }
    }
    for path in paths {
        let room = path
            .first()
            .and_then(|room| ROOMS.iter().position(|listed| listed == room));
        rooms.extend(path.last().cloned().zip(room));
    }
    let mut code = session
        .code
        .iter()
        .skip_while(|token| !is_word(token, "struct"));
    let Some(TokenTree::Group(fields)) = code.nth(2) else {
        panic!("struct Session was not found");
    };
    let fields: Vec<TokenTree> = fields.stream().into_iter().collect();
    let mut parts = BTreeMap::new();
    for field in fields.split(|token| is_mark(token, ',')) {
        let Some(colon) = field.iter().position(|token| is_mark(token, ':')) else {
            continue;
        };
        let names = field[colon..]
            .iter()
            .filter_map(|token| rooms.get(&token.to_string()));
        parts.extend(
            names
                .max()
                .map(|room| (field[colon - 1].to_string(), *room)),
        );
    }
    parts
}

/// The files of `session` that give `Session` the calls of the API. All others take the parts that they use.
const CALLS: &[&str] = &[
    "src/session/end.rs",
    "src/session/halt.rs",
    "src/session/manage.rs",
    "src/session/mod.rs",
    "src/session/output/complete.rs",
    "src/session/output/mod.rs",
    "src/session/output/route.rs",
    "src/session/restart/mod.rs",
    "src/session/restart/restart_list.rs",
    "src/session/start/mod.rs",
];

#[test]
fn only_the_files_of_calls_give_methods_to_the_session() {
    let blocks = sources().iter().flat_map(impls).collect::<Vec<_>>();
    let blocks = blocks.iter().filter(|one| one.of == "Session");
    let files: BTreeSet<_> = blocks.map(|one| one.file.to_string_lossy()).collect();
    let listed: BTreeSet<_> = CALLS.iter().map(|file| (*file).into()).collect();
    let differ = files.symmetric_difference(&listed);
    none(
        differ
            .map(|file| format!("{file} is only in the sources or only in CALLS"))
            .collect(),
    );
}

#[test]
fn methods_and_parts_of_the_session_are_used_by_rooms_above_only() {
    let sources = sources();
    let all: Vec<Impl> = sources.iter().flat_map(impls).collect();
    let mut types: BTreeSet<(String, Option<usize>)> = BTreeSet::new();
    for source in &sources {
        types.extend(names_of_types(&source.code).map(|name| (name, place(source))));
    }
    let mut of_type: BTreeMap<(&str, String), BTreeSet<Option<usize>>> = BTreeMap::new();
    let mut of_name: BTreeMap<String, BTreeSet<Option<usize>>> = BTreeMap::new();
    for one in &all {
        for name in one.methods() {
            if one.is_inherent {
                let defined = of_type.entry((&one.of, name.clone())).or_default();
                defined.insert(one.room);
            }
            // A room has no value of a type of a room above but by a part of the session, which is looked at below.
            let is_away = !types.contains(&(one.of.clone(), one.room));
            let room = one.room.filter(|_| is_away && one.is_inherent);
            of_name.entry(name).or_default().insert(room);
        }
    }
    let session = sources.iter().find(|source| source.module == ["session"]);
    let parts = parts(session.expect("src/session/mod.rs is there"));
    assert!(
        parts.len() > 10,
        "the parts of Session were found: {parts:?}"
    );
    let mut wrong = Vec::new();
    for one in &all {
        let Some(room) = one.room else {
            continue;
        };
        let mut found = Vec::new();
        accesses(&one.body, &one.of, &mut found);
        for access in found {
            let field = parts.get(&access.name);
            let of_session = access.of.as_deref() == Some("Session");
            let defined = match &access.of {
                Some(of) if access.is_call => of_type.get(&(of, access.name.clone())),
                None if access.is_call => of_name.get(&access.name),
                _ => None,
            };
            let used = match (field, defined) {
                (Some(part), _) if of_session && !access.is_call => Some(*part),
                // Of several that may be meant, the lowest.
                (_, Some(rooms)) => rooms
                    .iter()
                    .copied()
                    .max_by_key(|room| room.unwrap_or(usize::MAX))
                    .flatten(),
                _ => None,
            };
            if let Some(used) = used.filter(|used| *used < room) {
                wrong.push(format!(
                    "{}:{}: {} uses {} of {}, which stands above it in ROOMS",
                    one.file.display(),
                    access.line,
                    ROOMS[room],
                    access.name,
                    ROOMS[used]
                ));
            }
        }
    }
    none(wrong);
}
