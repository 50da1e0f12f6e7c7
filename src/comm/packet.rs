//! Many small payloads in one message, each with its source and destination.
//!
//! ```text
//! for each payload: from u32, to u32, length u64 (little endian), bytes
//! ```

use crate::{Error, Result};

/// A payload in transit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packet {
    pub from: usize,
    pub to: usize,
    pub body: Vec<u8>,
}

const HEADER: usize = 16;

/// Puts packets into one message, in order.
pub(super) fn pack(packets: &[Packet]) -> Vec<u8> {
    let length = packets.iter().map(|p| HEADER + p.body.len()).sum();
    let mut message = Vec::with_capacity(length);
    for packet in packets {
        // A group has at most 2^31 - 1 ranks, as MPI numbers them with an int.
        message.extend_from_slice(&(packet.from as u32).to_le_bytes());
        message.extend_from_slice(&(packet.to as u32).to_le_bytes());
        message.extend_from_slice(&(packet.body.len() as u64).to_le_bytes());
        message.extend_from_slice(&packet.body);
    }
    message
}

/// Takes a message apart again. Both ranks of every packet are below `size`.
pub(super) fn unpack(message: &[u8], size: usize) -> Result<Vec<Packet>> {
    let mut packets = Vec::new();
    let mut rest = message;
    while !rest.is_empty() {
        let offset = message.len() - rest.len();
        let (packet, after) = split_packet(rest, size)
            .ok_or_else(|| Error::format(offset as u64, "no packet of this group of ranks"))?;
        packets.push(packet);
        rest = after;
    }
    Ok(packets)
}

fn split_packet(message: &[u8], size: usize) -> Option<(Packet, &[u8])> {
    let (from, rest) = message.split_first_chunk::<4>()?;
    let (to, rest) = rest.split_first_chunk::<4>()?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let from = usize::try_from(u32::from_le_bytes(*from))
        .ok()
        .filter(|&rank| rank < size)?;
    let to = usize::try_from(u32::from_le_bytes(*to))
        .ok()
        .filter(|&rank| rank < size)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (body, rest) = rest.split_at_checked(length)?;
    Some((
        Packet {
            from,
            to,
            body: body.to_vec(),
        },
        rest,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets() -> Vec<Packet> {
        let packet = |from, to, body: &[u8]| Packet {
            from,
            to,
            body: body.to_vec(),
        };
        vec![
            packet(0, 2, b"one"),
            packet(1, 2, b""),
            packet(2, 0, b"three"),
        ]
    }

    #[test]
    fn what_is_packed_comes_out() {
        assert_eq!(unpack(&pack(&packets()), 3).unwrap(), packets());
        assert_eq!(unpack(&[], 3).unwrap(), []);
    }

    #[test]
    fn a_cut_message_gives_an_error_or_whole_packets() {
        let message = pack(&packets());
        for length in 0..message.len() {
            match unpack(&message[..length], 3) {
                Ok(some) => assert!(packets().starts_with(&some) && some.len() < 3),
                Err(error) => assert!(matches!(error, Error::Format { .. })),
            }
        }
    }

    #[test]
    fn wild_ranks_and_lengths_are_refused() {
        assert!(unpack(&pack(&packets()), 2).is_err());
        let mut message = pack(&packets());
        message[8..16].fill(0xff);
        assert!(unpack(&message, 3).is_err());
    }
}
