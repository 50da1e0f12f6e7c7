//! Messages of some numbers each.

use crate::comm::{Communicator, collective};
use crate::{Error, Result};

/// Numbers below 2^32: ranks, or counts of them.
pub(super) type Numbers<const N: usize> = [usize; N];

/// A message of them, 4 bytes each.
pub(super) fn pack(numbers: &[usize]) -> Vec<u8> {
    let bytes = numbers
        .iter()
        .flat_map(|number| (*number as u32).to_le_bytes());
    bytes.collect()
}

/// The numbers in a message, in rows of N.
pub(super) fn unpack<const N: usize>(message: &[u8]) -> Result<Vec<Numbers<N>>> {
    let (numbers, rest) = message.as_chunks::<4>();
    let numbers: Vec<usize> = numbers
        .iter()
        .map(|n| u32::from_le_bytes(*n) as usize)
        .collect();
    let (rows, more) = numbers.as_chunks::<N>();
    if rest.is_empty() && more.is_empty() {
        return Ok(rows.to_vec());
    }
    Err(Error::comm(
        "SCR_Init",
        "a message about the ranks cannot be read",
    ))
}

/// Exchanges messages of rows of N numbers; the rows come with the ranks that have sent them, in rising order.
/// Collective; an exchange.
pub(super) fn exchange<const N: usize>(
    comm: &dyn Communicator,
    messages: Vec<(usize, Vec<u8>)>,
) -> Result<Vec<(usize, Numbers<N>)>> {
    let mut all = Vec::new();
    for (from, message) in collective::exchange(comm, messages)? {
        all.extend(unpack(&message)?.into_iter().map(|row| (from, row)));
    }
    Ok(all)
}
