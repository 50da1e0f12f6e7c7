//! The reports of SCR: a [`Message`] is one line for the user, an [`Event`] is one line of the event
//! log.

mod event;
mod message;

pub use event::{Event, EventKind};
pub use message::{Console, Memory, Message, Severity, Sink, Speaker};
