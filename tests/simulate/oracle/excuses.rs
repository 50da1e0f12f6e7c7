//! What is excused, with the sentence that allows it: of the failure model, or of the guide for what users set. A run of
//! many jobs prints in how many each excuse was needed.

/// Makes the enum, its texts and its sentences from one table.
macro_rules! excuses {
    ($($variant:ident $text:literal $sentence:literal;)*) => {
        /// Why a checkpoint need not be offered, or a call may fail.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Excuse {
            $(#[doc = $text] $variant,)*
        }

        impl Excuse {
            /// Its words.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Excuse::$variant => $text,)*
                }
            }
        }

        /// Each with its sentence.
        #[cfg(test)]
        const SENTENCES: &[(&str, &str)] = &[$(($text, $sentence),)*];
    };
}

excuses! {
    BrokenRecords "SCR's own records, or bytes without a checksum, were damaged"
        "is the newest dataset in the prefix directory that is complete and as it was recorded.";
    Unnoticed "damage where no checksum is recorded"
        "any change of content that keeps the sizes, where no checksums are recorded";
    Damaged "damaged in the prefix directory"
        "noticed; older checkpoint";
    DamageUnread "damaged in the prefix directory, and gone from the cache since"
        "Nobody reads it for that: if it has been damaged there since, and the copy in the cache is evicted, or `SCR_Finalize` empties the cache, the checkpoint is lost.";
    NotFlushed "not flushed yet"
        "the newest good one in the prefix directory, so up to `SCR_FLUSH` checkpoints are lost.";
    OtherRanks "of another number of ranks, with SCR_START_ANEW"
        "`SCR_START_ANEW=1` comes before all of this: such checkpoints are given up.";
    NoFetch "SCR_FETCH=0 or SCR_PREFIX_PURGE=1"
        "unless `SCR_FETCH=0` or `SCR_PREFIX_PURGE=1` keeps the next run from using it.";
    Window "outside of the sliding window"
        "as long as it is in the index and in the sliding window";
    Purged "purged by a parameter"
        "After `scr clean` or a purge (`SCR_CACHE_PURGE`, `SCR_PREFIX_PURGE`): what that has deleted.";
    Emptied "the end of a run has emptied the cache, and the next one does not fetch"
        "the dataset may be in the prefix directory alone, and `SCR_FETCH=0` keeps the next run from it.";
    Cleaned "scr clean"
        "After `scr clean` or a purge (`SCR_CACHE_PURGE`, `SCR_PREFIX_PURGE`): what that has deleted.";
    PowerLost "power lost everywhere"
        "back to the prefix directory if the cache is memory";
    LostNodes "more nodes lost than the redundancy tolerates"
        "When more is lost than the redundancy tolerates";
    SetAside "set aside by a run that had too few of its nodes"
        "the first run sets aside what it cannot rebuild (`scr.quarantine.ID`), and no later run takes it";
    IndexLost "the index was lost and could not be made again"
        "If it is lost, `scr index --add` builds it again from the summaries, of datasets whose files are there.";
    EarlierRank "a rank of a killed run goes on in bypass, or is rank 0"
        "Nothing protects the prefix directory from it in bypass";
    Evicted "evicted from a full cache"
        "Each store holds at most `COUNT` datasets";
    Uneven "stores or descriptors that protect differently"
        "With several schemes in one store of 2: while the next one is being written, the newest of the safest ones that completed.";
    OnTheWay "older ones that are being flushed in the background stay in the cache"
        "A dataset that is being flushed stays until it is safe in the prefix directory, and the newest checkpoint does not go in its place";
    NoRoom "too little space"
        "older checkpoints make way";
    GlobalRestart "SCR_GLOBAL_RESTART"
        "SCR_Init copies cached datasets to the prefix directory, waits until they are there, and the restart reads them there";
    NotNoted "deleted, rejected or chosen in a run with an error of a file system"
        "it goes on with a warning, because these only record facts that are known anyway.";
    TakenAwayWithout "deleted or rejected by a run without all that have it"
        "what was rejected or deleted by runs without this node may be offered again";
    ThereAgain "deleted or rejected, and there again after a power loss or with an old disk"
        "what was renamed or removed in a cache without a sync may be there again";
    Refused "a call names an error of a file system that has failed in this run"
        "An error of the system never changes which checkpoint is used: [a restart](user-guide.md#restart) fails instead";
    NamedBefore "a message before names what fails a call of the run"
        "An error there causes a warning and does not cost the checkpoint.";
    Unnamed "a checkpoint cannot be used in a run with an error of a file system, which nothing names"
        "A checkpoint that may be good but cannot be read now is not passed over";
    ReadTwice "an error of a file system between the check of fields and their use"
        "What is beyond is read twice.";
    Full "a call names a file system that is full"
        "the new checkpoint fails, as a rule before it is begun";
    Locked "a stopped process has kept a lock"
        "it waits, then fails and names the process.";
    Orders "the transfer file was damaged"
        "that the daemon puts a damaged transfer file aside";
    NotRead "a rank could not read its files"
        "a restart without them says that the dataset is not verified";
    RanksDiffer "checkpoints of another number of ranks"
        "Nor is one of [another number of ranks](user-guide.md#another-number-of-ranks), unless it is given up";
    Required "SCR_REQUIRE_RESTART"
        "SCR_REQUIRE_RESTART";
    OlderInTheWay "plain files of an older dataset of the name are where containers are read in place"
        "the plain files of the older one are in the way: `SCR_Have_restart` fails and says what to do.";
    TakenOut "a person takes the dataset away meanwhile"
        "If a person drops or deletes a dataset that a run reads or writes, calls of the run for this dataset may fail.";
    Broken "processes of the run have died"
        "A failing process ends the MPI job, unless the program";
    NotWritten "the program could not write a file"
        "all ranks agree that their files exist and that all passed `valid`. If not, the dataset is dropped.";
    Wrong "redundancy that was wrong three times"
        "If it is still wrong, the dataset is dropped.";
    Bad "a rank calls the dataset bad"
        "If not, the dataset is dropped.";
}

/// A text in one line.
#[cfg(test)]
fn in_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn each_excuse_has_a_sentence_that_allows_it() {
    let documents = [
        include_str!("../../../docs/failure-model.md"),
        include_str!("../../../docs/user-guide.md"),
        include_str!("../../../docs/fields.md"),
        include_str!("../../../docs/parameters.md"),
        include_str!("../../../docs/faq.md"),
    ];
    let all = documents.map(in_one_line);
    let missing = SENTENCES.iter().filter(|(_, sentence)| {
        let sentence = in_one_line(sentence);
        !all.iter().any(|text| text.contains(&sentence))
    });
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "not in the documents: {missing:#?}");
}
