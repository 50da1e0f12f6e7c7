//! The verdict on each kind of loss, from announced states alone, without files or messages.

use super::verdict::*;
use crate::comm::solo::Solo;
use crate::format::Scheme;
use crate::redundancy::code::{Code, CodeKind};
use crate::redundancy::{Context, Set};
use crate::store::posix::Posix;
use std::path::Path;

const ALL: u64 = RECORD | DATA | PARITY | VERIFIED;
const SIZES: [u64; 4] = [100, 7, 0, 61];

/// Sets of four: two copies, one sum, two sums.
fn codes() -> [Code; 3] {
    [
        (CodeKind::Copies, 2),
        (CodeKind::Sum, 1),
        (CodeKind::Products, 2),
    ]
    .map(|(kind, losses)| Code::new(kind, SIZES.len(), losses).unwrap())
}

fn rs() -> Code {
    Code::new(CodeKind::Products, SIZES.len(), 2).unwrap()
}

/// The states of members that have everything.
fn whole(code: &Code) -> Vec<MemberState> {
    let left = |member: usize, steps: usize| SIZES[(member + SIZES.len() - steps) % SIZES.len()];
    let state = |(member, size): (usize, &u64)| MemberState {
        has: ALL,
        id: 6,
        created: 1_312_850_690_668_536,
        piece: 64,
        chunk: code.chunk(&SIZES),
        size: *size,
        lefts: (1..=code.parities())
            .map(|steps| left(member, steps))
            .collect(),
    };
    SIZES.iter().enumerate().map(state).collect()
}

/// The state of a member that has nothing.
fn lose(state: &mut MemberState) {
    let lefts = vec![0; state.lefts.len()];
    (state.has, state.id, state.created) = (0, 0, 0);
    (state.chunk, state.size, state.lefts) = (0, 0, lefts);
}

/// The verdict for a set of world ranks 10 to 13.
fn verdict(code: &Code, all: Vec<MemberState>) -> Result<Verdict, String> {
    let set = Set::new(0, vec![10, 11, 12, 13]).unwrap();
    let context = Context {
        comm: &Solo::new(),
        files: &Posix,
        set: &set,
        data_dir: Path::new("data"),
        common: false,
        meta_dir: Path::new("meta"),
        piece: 64,
        tag: 0,
        holders: &[],
        sync: false,
        watch: &(),
    };
    judge(&context, code, Scheme::Rs, all)
}

fn refused(code: &Code, all: Vec<MemberState>) -> String {
    verdict(code, all).err().expect("too much is lost")
}

#[test]
fn without_losses_all_states_are_kept() {
    for code in codes() {
        let verdict = verdict(&code, whole(&code)).unwrap();
        assert_eq!(verdict.sizes, SIZES);
        assert_eq!(verdict.record_sources, [None; 4]);
        assert!(verdict.all.iter().all(|state| state.has == ALL));
        assert!(!verdict.any_lacks(DATA) && !verdict.must_verify_first());
    }
}

/// All ways for each of four members to have everything, nothing, no redundancy, or no data. Checks
/// whether the set can be rebuilt, who sends lost records, and the sizes of files.
#[test]
fn every_combination_of_losses_is_judged_by_the_rule() {
    for code in codes() {
        for number in 0..4usize.pow(4) {
            let kind = |member: usize| number / 4usize.pow(member as u32) % 4;
            let mut all = whole(&code);
            for (member, state) in all.iter_mut().enumerate() {
                match kind(member) {
                    0 => {}
                    1 => lose(state),
                    2 => state.has &= !PARITY,
                    _ => state.has &= !DATA,
                }
            }
            let flags = |what: u64| all.iter().map(|s| s.lacks(what)).collect::<Vec<_>>();
            let (data, parity) = (flags(DATA), flags(PARITY));
            let right = |member: usize, steps: usize| (member + steps) % SIZES.len();
            let record_source = |member: usize| {
                let mut rights = (1..=code.parities()).map(|steps| right(member, steps));
                rights.find(|right| !parity[*right])
            };
            let record_sources: Vec<Option<usize>> = (0..4)
                .map(|member| record_source(member).filter(|_| kind(member) == 1))
                .collect();
            let told = (0..4).all(|member| kind(member) != 1 || record_sources[member].is_some());
            match verdict(&code, all) {
                Ok(verdict) => {
                    assert!(told && code.recoverable(&data, &parity), "{number}");
                    assert_eq!(verdict.record_sources, record_sources, "{number}");
                    assert_eq!(verdict.sizes, SIZES, "{number}");
                    assert_eq!(verdict.any_lacks(DATA), data.contains(&true), "{number}");
                    assert_eq!(
                        verdict.any_lacks(PARITY),
                        parity.contains(&true),
                        "{number}"
                    );
                }
                Err(_) => assert!(!told || !code.recoverable(&data, &parity), "{number}"),
            }
        }
    }
}

#[test]
fn redundancy_of_files_of_other_sizes_counts_as_lost() {
    let lies: [fn(&mut MemberState); 3] = [
        |state| state.chunk += 1,
        |state| state.lefts[0] += 1,
        |state| state.lefts[1] += 1,
    ];
    for lie in lies {
        let mut all = whole(&rs());
        lie(&mut all[1]);
        let verdict = verdict(&rs(), all).unwrap();
        let has: Vec<u64> = verdict.all.iter().map(|state| state.has).collect();
        assert_eq!(has, [ALL, ALL & !PARITY, ALL, ALL]);
    }
}

/// Only member 1 knows the files of member 0, and its redundancy cannot be used.
#[test]
fn a_record_is_not_taken_from_redundancy_that_does_not_fit() {
    let mut all = whole(&rs());
    lose(&mut all[0]);
    all[1].chunk += 1;
    let why = refused(&rs(), all);
    assert!(
        why.contains("the files of rank 10 and the redundancy of rank 11"),
        "{why}"
    );
    // The size that counts is the lost member's, as its neighbour knows it.
    let mut all = whole(&rs());
    lose(&mut all[0]);
    all[0].size = 9999;
    assert_eq!(verdict(&rs(), all).unwrap().sizes, SIZES);
}

#[test]
fn files_of_different_datasets_are_never_joined() {
    let others: [fn(&mut MemberState); 2] = [|state| state.id += 1, |state| state.created -= 1];
    for other in others {
        for member in 0..4 {
            let mut all = whole(&rs());
            other(&mut all[member]);
            let why =
                "the ranks 10, 11, 12, 13 of a redundancy set hold files of different datasets";
            assert_eq!(refused(&rs(), all), why);
            // Without a record, other announcements do not matter.
            let mut all = whole(&rs());
            other(&mut all[member]);
            all[member].has = 0;
            assert!(verdict(&rs(), all).is_ok());
        }
    }
}

#[test]
fn members_that_would_wait_for_messages_of_another_size_do_not_begin() {
    for member in 0..4 {
        let mut all = whole(&rs());
        all[member].piece += 1;
        assert_eq!(
            refused(&rs(), all),
            "the ranks 10, 11, 12, 13 of a redundancy set do not agree on the message size"
        );
    }
}

#[test]
fn an_error_names_the_losses_and_the_tolerance() {
    let [_, xor, rs] = codes();
    let mut all = whole(&xor);
    lose(&mut all[1]);
    lose(&mut all[3]);
    assert_eq!(
        refused(&xor, all),
        "the files of ranks 11 and 13 are lost or damaged; RS set 10, 11, 12, 13 tolerates the loss \
         of one (SCR-204)"
    );
    let mut all = whole(&rs);
    lose(&mut all[0]);
    all[1].has &= !(DATA | PARITY);
    all[2].has &= !PARITY;
    assert_eq!(
        refused(&rs, all),
        "the files of ranks 10 and 11 and the redundancy of rank 12 are lost or damaged; RS set 10, \
         11, 12, 13 tolerates the loss of any 2 (SCR-204)"
    );
}

/// Files must not be overwritten before all others are verified.
#[test]
fn files_are_not_overwritten_before_the_others_are_verified() {
    let [.., rs] = codes();
    for (has, other, verify_first) in [
        // Files and record are lost: there is nothing to overwrite.
        (0, ALL, false),
        (0, ALL & !VERIFIED, false),
        // There are files that were not examined.
        (UNVERIFIED, ALL, true),
        (ALL & !DATA, ALL, false),
        (ALL & !DATA, ALL & !VERIFIED, true),
        (ALL & !PARITY, ALL, false),
        (ALL & !PARITY, ALL & !VERIFIED, true),
        (ALL & !(DATA | VERIFIED), ALL, true),
        (ALL, ALL & !VERIFIED, false),
    ] {
        let mut all = whole(&rs);
        (all[1].has, all[2].has) = (has, other);
        let verdict = verdict(&rs, all).unwrap();
        assert_eq!(verdict.must_verify_first(), verify_first, "{has} {other}");
    }
}

#[test]
fn announced_states_arrive_and_other_messages_do_no_harm() {
    let sent = MemberState {
        has: 1,
        id: 2,
        created: 3,
        piece: 4,
        chunk: 5,
        size: 6,
        lefts: vec![7, 8],
    };
    let numbers = |s: &MemberState| [s.has, s.id, s.created, s.piece, s.chunk, s.size];
    let message = sent.to_bytes();
    let got = MemberState::from_bytes(&message, 2);
    assert_eq!((numbers(&got), got.lefts), ([1, 2, 3, 4, 5, 6], vec![7, 8]));
    // Messages that are cut short, have more neighbours, or have sizes whose sum would overflow.
    let got = MemberState::from_bytes(&message[..8 * 2 + 3], 2);
    assert_eq!((numbers(&got), got.lefts), ([1, 2, 0, 0, 0, 0], vec![0, 0]));
    let got = MemberState::from_bytes(&message, 3);
    assert_eq!((got.size, got.lefts), (6, vec![7, 8, 0]));
    let got = MemberState::from_bytes(&message, 1);
    assert_eq!((got.size, got.lefts), (6, vec![7]));
    const MOST: u64 = i64::MAX as u64 / 4;
    let mut huge = sent;
    (huge.size, huge.lefts) = (MOST + 1, vec![MOST, u64::MAX]);
    let got = MemberState::from_bytes(&huge.to_bytes(), 2);
    assert_eq!((got.size, got.lefts), (MOST, vec![MOST, MOST]));
}
