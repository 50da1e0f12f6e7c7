//! Forwards the methods of [`Files`](super::Files) or [`File`](super::File) that a wrapper does not
//! change.

/// Makes methods that call the method of the same name of another value:
///
/// ```
/// # use scr_engine::{Result, forward, store::Files};
/// # struct Wrapper(Box<dyn Files>);
/// # impl Wrapper {
/// forward! { self.0;
///     fn remove_dir(&self, path: &std::path::Path) -> Result<bool>;
/// }
/// # }
/// ```
#[macro_export]
macro_rules! forward {
    ($to:expr; $(fn $name:ident(&$this:ident $(, $argument:ident: $type:ty)*) -> $result:ty;)*) => {
        $(fn $name(&$this $(, $argument: $type)*) -> $result {
            $to.$name($($argument),*)
        })*
    };
}
