//! The content of the text of `MPI_Get_library_version`.

/// MPI libraries with the same handles and structures: one may take the place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Mpich,
    OpenMpi,
}

impl Family {
    /// `None` if it is not known.
    pub fn of(version: &str) -> Option<Family> {
        const WORDS: [(&str, Family); 6] = [
            ("Open MPI", Family::OpenMpi),
            ("Spectrum MPI", Family::OpenMpi),
            ("MPICH", Family::Mpich),
            ("MVAPICH", Family::Mpich),
            ("Intel(R) MPI", Family::Mpich),
            ("ParaStation MPI", Family::Mpich),
        ];
        let found = WORDS.iter().find(|(word, _)| version.contains(word));
        found.map(|(_, family)| *family)
    }
}

/// Name and number: the first line, up to a comma.
pub(super) fn short(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default();
    let name = line.split(',').next().unwrap_or_default();
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join(" ").replace("Version: ", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mpis_with_the_handles_of_mpich_are_one_family() {
        for version in [
            "MPICH Version:    \t4.0.2\nMPICH Release date:\tThu Apr  7 2022",
            "Intel(R) MPI Library 2021.9 for Linux* OS\n",
            "MVAPICH2 Version      :\t2.3.7",
            "MPI VERSION    : CRAY MPICH version 8.1.4.31 (ANL base 3.4a2)",
        ] {
            assert_eq!(Family::of(version), Some(Family::Mpich), "{version}");
        }
        let open = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";
        assert_eq!(Family::of(open), Some(Family::OpenMpi));
        assert_eq!(Family::of("NEC MPI: Version 2.22"), None);
        assert_eq!(short(open), "Open MPI v4.1.4");
    }
}
