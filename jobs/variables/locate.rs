//! Evaluates the expressions that say where a variable is, and how large.

use super::memory::Memory;
use super::types::{Expression, Number};
use gimli::{
    EndianSlice, Evaluation, EvaluationResult, LittleEndian, Location, Piece, Unit, Value,
};

use scr_engine::format::stop::REGISTERS;

pub(super) type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// An expression may have so many operations, so that one that is damaged comes to an end.
const MOST_OPERATIONS: u32 = 1000;

/// A frame of a process: its addresses, and where the function's variables are counted from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Frame {
    /// The next instruction.
    pub instruction: u64,
    /// The canonical frame address.
    pub cfa: u64,
    /// The frame pointer.
    pub pointer: u64,
    /// The stack pointer at the call.
    pub stack: u64,
    /// The address of the values of the registers that functions keep for their callers, which are only read; 0 if they are not known.
    pub registers: u64,
    /// Where a function that it has called keeps them; 0 if that is not known.
    pub saved: Saved,
}

/// A place for each register that a called function must keep.
pub(super) type Saved = [u64; REGISTERS.len()];

/// The number in DWARF of the stack pointer.
#[cfg(target_arch = "x86_64")]
const STACK_POINTER: u16 = 7;
#[cfg(not(target_arch = "x86_64"))]
const STACK_POINTER: u16 = 31;

/// What an expression gives.
enum Found {
    Address(u64),
    Register(u16),
}

/// The thread that has stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its frames, the innermost first.
    pub frames: Vec<Frame>,
    /// The address from which its own variables are counted; 0 if that is not known.
    pub pointer: u64,
}

impl Thread {
    /// The address of a variable that each thread has for itself, in the program's part of this size and alignment.
    pub(super) fn address(&self, part: Option<(u64, u64)>, offset: u64) -> Option<u64> {
        let (size, align) = part.filter(|_| self.pointer > 0)?;
        let begin = if cfg!(target_arch = "x86_64") {
            self.pointer
                .checked_sub(size.checked_next_multiple_of(align)?)?
        } else {
            // On AArch64 two words are before it.
            (self.pointer).checked_add(16u64.checked_next_multiple_of(align)?)?
        };
        begin.checked_add(offset)
    }
}

/// What an expression is evaluated for.
pub(super) struct Place<'a> {
    pub memory: &'a dyn Memory,
    /// What is added to addresses of the file.
    pub bias: u64,
    pub object: u64,
    pub frame: Option<(Frame, Option<&'a Expression>)>,
}

/// The numbers of the register that is the frame pointer: of x86-64 and of AArch64.
const FRAME_POINTERS: [u16; 2] = [6, 29];

impl Place<'_> {
    /// The address, or the number, that an expression gives.
    pub fn evaluate(&self, expression: &Expression) -> Option<u64> {
        self.address(self.run(expression, None)?)
    }

    /// Likewise, where the expression begins with a number.
    pub fn from(&self, expression: &Expression, number: u64) -> Option<u64> {
        self.address(self.run(expression, Some(number))?)
    }

    /// A register is where a called function keeps it.
    fn address(&self, found: Found) -> Option<u64> {
        match found {
            Found::Address(address) => Some(address),
            Found::Register(register) => self.saved(register),
        }
    }

    /// Where the value of a register lies meanwhile.
    pub fn saved(&self, register: u16) -> Option<u64> {
        let place = REGISTERS.iter().position(|one| *one == register)?;
        let saved = *self.frame?.0.saved.get(place)?;
        (saved != 0).then_some(saved)
    }

    /// The value of a register.
    pub fn value(&self, register: u16) -> Option<u64> {
        let frame = self.frame?.0;
        match register {
            STACK_POINTER => Some(frame.stack),
            number if FRAME_POINTERS.contains(&number) => Some(frame.pointer),
            number => self.memory.number(self.saved(number)?, 8),
        }
    }

    fn run(&self, expression: &Expression, number: Option<u64>) -> Option<Found> {
        match &self.pieces(expression, number)?[..] {
            [piece] => match piece.location {
                Location::Address { address } => Some(Found::Address(address)),
                Location::Register { register } => Some(Found::Register(register.0)),
                _ => None,
            },
            _ => None,
        }
    }

    /// What an expression gives: where each piece of a variable is. It may begin with a number.
    pub fn pieces<'e>(
        &self,
        expression: &'e Expression,
        number: Option<u64>,
    ) -> Option<Vec<Piece<Slice<'e>>>> {
        let slice = Slice::new(&expression.bytes, LittleEndian);
        let mut evaluation = Evaluation::new(slice, expression.encoding);
        evaluation.set_object_address(self.object);
        if let Some(number) = number {
            evaluation.set_initial_value(number);
        }
        evaluation.set_max_iterations(MOST_OPERATIONS);
        let mut state = evaluation.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let number = self.memory.number(address, size.into())?;
                    evaluation.resume_with_memory(Value::Generic(number))
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address.wrapping_add(self.bias))
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(self.frame?.0.cfa)
                }
                EvaluationResult::RequiresFrameBase => {
                    evaluation.resume_with_frame_base(self.frame_base()?)
                }
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.value(register.0)?))
                }
                _ => return None,
            }
            .ok()?;
        }
        Some(evaluation.result())
    }

    fn frame_base(&self) -> Option<u64> {
        let (frame, base) = self.frame?;
        let place = Place {
            frame: Some((frame, None)),
            ..*self
        };
        // A frame base that is a register means its value.
        match place.run(base?, None)? {
            Found::Address(address) => Some(address),
            Found::Register(register) => place.value(register),
        }
    }

    pub fn number(&self, number: &Number) -> Option<i64> {
        match number {
            Number::Known(value) => Some(*value),
            Number::Computed(expression) => Some(self.evaluate(expression)? as i64),
            Number::At(expression, size) => {
                let address = self.evaluate(expression)?;
                let size = usize::try_from(*size).ok()?;
                Some(self.memory.number(address, size)? as i64)
            }
        }
    }
}

/// A place that is the same whenever the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fixed {
    /// The address in the file.
    Static(u64),
    /// In the part that each thread has for itself.
    Thread(u64),
}

/// The place in the file that an expression gives; `None` if it is not fixed.
pub(super) fn link_address<'a>(
    dwarf: &gimli::Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    expression: gimli::Expression<Slice<'a>>,
) -> Option<Fixed> {
    let mut evaluation = expression.evaluation(unit.encoding());
    evaluation.set_max_iterations(MOST_OPERATIONS);
    let mut state = evaluation.evaluate().ok()?;
    let mut in_thread = false;
    loop {
        state = match state {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRelocatedAddress(address) => {
                evaluation.resume_with_relocated_address(address)
            }
            EvaluationResult::RequiresIndexedAddress { index, .. } => {
                let address = dwarf.address(unit, index).ok()?;
                evaluation.resume_with_indexed_address(address)
            }
            EvaluationResult::RequiresTls(offset) => {
                in_thread = true;
                evaluation.resume_with_tls(offset)
            }
            _ => return None,
        }
        .ok()?;
    }
    match evaluation.as_result() {
        [piece] => match piece.location {
            Location::Address { address } if in_thread => Some(Fixed::Thread(address)),
            Location::Address { address } => Some(Fixed::Static(address)),
            _ => None,
        },
        _ => None,
    }
}
