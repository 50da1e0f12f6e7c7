//! Reads types from the debug information.

use super::dwarf::{Entry, Language, Place, Reader, has_flag};
use super::types::{Array, Bits, Expression, Extent, Kind, Member, Number, Type};
use gimli::AttributeValue;

/// Types of this name, or that begin with it, are no state that could be compared: handles of MPI and of files, clocks, what
/// threads wait for. Fortran has its names in small letters.
const LEFT_OUT: &[&str] = &[
    "MPIR_",
    "ompi_",
    "_IO_FILE",
    "__vtype_",
    "timespec",
    "timeval",
    "clock_t",
    "pthread_",
    "hid_t",
    "SCR_State",
    "__shared_count",
    "__weak_count",
    "basic_ostream",
    "basic_istream",
    "basic_iostream",
    "basic_ofstream",
    "basic_ifstream",
    "basic_fstream",
    "basic_ios",
    "ios_base",
    "locale",
    "thread",
    "mutex",
    "condition_variable",
    "_List_node_base",
    "_Rb_tree_node_base",
    "_Hash_node_base",
];

/// The handles of MPI, without their prefix. Other types with this prefix are the program's own.
const HANDLES: &[&str] = &[
    "comm",
    "datatype",
    "errhandler",
    "file",
    "group",
    "info",
    "message",
    "op",
    "request",
    "session",
    "status",
    "win",
];

fn is_left_out(name: &str) -> bool {
    let lower = name.to_lowercase();
    let handle = lower.strip_prefix("mpi_");
    if handle.is_some_and(|handle| HANDLES.contains(&handle)) {
        return true;
    }
    LEFT_OUT.iter().any(|begin| match begin.strip_suffix('_') {
        Some(_) => name.starts_with(begin),
        None => name == *begin || name.starts_with(&format!("{begin}<")),
    })
}

/// A value is inside of another one, and this one of the next, so often at most.
const MOST_INSIDE: usize = 100;

/// A type is another name of the next, so often at most.
const MOST_ALIASES: usize = 100;

impl Reader<'_> {
    /// The type at a place, which is read with all that it refers to.
    pub fn type_at(&mut self, place: Place) -> usize {
        let place = self.named(place);
        if self.reading.now.contains(&place) || self.reading.now.len() >= MOST_INSIDE {
            // A value cannot be a part of itself: the file is damaged.
            self.types.all.push(Type::Skipped);
            return self.types.all.len() - 1;
        }
        let id = self.type_later(place);
        if self.reading.pending.remove(&id).is_some() {
            self.read(id, place);
        }
        // One after the other, since one inside of the other needs much stack in large programs.
        while self.reading.now.is_empty()
            && let Some((id, place)) = self.reading.pending.pop_first()
        {
            self.read(id, place);
        }
        id
    }

    /// The type at a place, which is read when those that wait for it are: to it only a pointer leads.
    fn type_later(&mut self, place: Place) -> usize {
        let place = self.named(place);
        if let Some(id) = self.reading.met.get(&place) {
            return *id;
        }
        let id = self.types.all.len();
        self.types.all.push(Type::Skipped);
        self.reading.met.insert(place, id);
        self.reading.pending.insert(id, place);
        id
    }

    fn read(&mut self, id: usize, place: Place) {
        self.reading.now.push(place);
        let found = self.read_type(place).unwrap_or(Type::Skipped);
        self.reading.now.pop();
        if let Some(slot) = self.types.all.get_mut(id) {
            *slot = found;
        }
    }

    /// The type itself, of which others are names.
    fn named(&self, place: Place) -> Place {
        let names = std::iter::successors(Some(place), |place| self.alias(*place));
        names.take(MOST_ALIASES).last().unwrap_or(place)
    }

    /// The type that this one is another name of.
    fn alias(&self, place: Place) -> Option<Place> {
        let unit = self.units.get(place.0)?;
        let alias = matches!(
            unit.entry(place.1).ok()?.tag(),
            gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type
        );
        let left_out = |name: String| is_left_out(&name);
        if !alias || self.name(place).is_some_and(left_out) {
            return None;
        }
        self.attribute_place(place, gimli::DW_AT_type)
    }

    fn read_type(&mut self, place: Place) -> Option<Type> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        let tag = entry.tag();
        let size = entry.attr_value(gimli::DW_AT_byte_size).ok()?;
        let size = size.and_then(|size| size.udata_value());
        let incomplete = has_flag(&entry, gimli::DW_AT_declaration);
        let name = self.name(place).unwrap_or_default();
        if is_left_out(&name) {
            return Some(Type::Skipped);
        }
        let bytes = |name: String| -> Option<Type> {
            Some(Type::Scalar {
                kind: Kind::Bytes,
                size: size?,
                name,
            })
        };
        match tag {
            gimli::DW_TAG_base_type => {
                let encoding = entry.attr_value(gimli::DW_AT_encoding).ok()?;
                Some(scalar(name, size?, encoding))
            }
            gimli::DW_TAG_enumeration_type => Some(Type::Scalar {
                kind: Kind::Signed,
                size: size?,
                name,
            }),
            gimli::DW_TAG_union_type if !incomplete => self.union(place, name, size?),
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                let of = self.attribute_place(place, gimli::DW_AT_type);
                Some(Type::Pointer {
                    to: of.map(|of| self.type_later(of)),
                })
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type if !incomplete => {
                Some(Type::Record {
                    name,
                    size: size?,
                    members: self.members(place, size?),
                    arguments: self.arguments(place),
                    polymorphic: self
                        .attribute_place(place, gimli::DW_AT_containing_type)
                        .is_some(),
                })
            }
            // gfortran has no type for an array of texts whose length is set later.
            gimli::DW_TAG_structure_type if name.is_empty() && self.is_fortran(place.0) => {
                Some(Type::Descriptor { own: None })
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                let Some(whole) = self.complete(&name) else {
                    return Some(Type::Declared { name });
                };
                let id = self.type_at(whole);
                Some(self.types.get(id).clone())
            }
            gimli::DW_TAG_array_type => self.array(place),
            gimli::DW_TAG_string_type => match size {
                Some(size) => bytes(format!("character({size})")),
                None => Some(Type::Text {
                    length: self.text_length(place)?,
                }),
            },
            _ => None,
        }
    }

    /// A union is bytes, or words where one of its members may be an address.
    fn union(&mut self, place: Place, name: String, size: u64) -> Option<Type> {
        let members = self.members(place, size);
        // What the C++ library keeps aside from a value that may be there.
        let value = members.iter().find(|member| member.name == "_M_value");
        if let Some(value) = value.filter(|_| name.starts_with("_Storage<")) {
            return Some(Type::Record {
                name,
                size,
                members: vec![value.clone()],
                arguments: Vec::new(),
                polymorphic: false,
            });
        }
        let pointer = members
            .iter()
            .any(|member| self.types.has_pointer(member.of, 6));
        let kind = if pointer && size.is_multiple_of(8) {
            Kind::Words
        } else {
            Kind::Bytes
        };
        Some(Type::Scalar { kind, size, name })
    }

    /// The types that a template was given.
    fn arguments(&mut self, place: Place) -> Vec<usize> {
        let mut found = Vec::new();
        for (tag, child) in self.children(place) {
            if tag == gimli::DW_TAG_template_type_parameter {
                let of = self.attribute_place(child, gimli::DW_AT_type);
                found.extend(of.map(|of| self.type_later(of)));
            }
        }
        found
    }

    pub fn children(&self, place: Place) -> Vec<(gimli::DwTag, Place)> {
        let read = || {
            let unit = self.units.get(place.0)?;
            let mut tree = unit.entries_tree(Some(place.1)).ok()?;
            let mut children = tree.root().ok()?.children();
            let mut found = Vec::new();
            while let Ok(Some(child)) = children.next() {
                let entry = child.entry();
                found.push((entry.tag(), (place.0, entry.offset())));
            }
            Some(found)
        };
        read().unwrap_or_default()
    }

    fn members(&mut self, place: Place, size: u64) -> Vec<Member> {
        let mut members = Vec::new();
        for (tag, child) in self.children(place) {
            let base = tag == gimli::DW_TAG_inheritance;
            if base || tag == gimli::DW_TAG_member {
                members.extend(self.member(child, base));
            }
        }
        if self.is_fortran(place.0) {
            members.extend(self.recursive_members(place, size, &members));
        }
        members
    }

    /// gfortran has no type for allocatable parts that are of the type itself.
    fn recursive_members(&mut self, place: Place, size: u64, known: &[Member]) -> Vec<Member> {
        let own = self.type_later(place);
        let mut found = Vec::new();
        for (tag, child) in self.children(place) {
            let untyped = tag == gimli::DW_TAG_member
                && self.attribute_place(child, gimli::DW_AT_type).is_none();
            let (Some(name), Some(offset)) = (self.name(child), self.offset(child)) else {
                continue;
            };
            if !untyped {
                continue;
            }
            let after = known
                .iter()
                .map(|member| member.offset)
                .filter(|at| *at > offset);
            let end = after.min().unwrap_or(size);
            self.types.all.push(match end.saturating_sub(offset) {
                8 => Type::Pointer { to: Some(own) },
                _ => Type::Descriptor { own: Some(own) },
            });
            found.push(Member {
                name,
                of: self.types.all.len() - 1,
                offset,
                base: None,
                bits: None,
            });
        }
        found
    }

    fn offset(&self, place: Place) -> Option<u64> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        let offset = entry.attr_value(gimli::DW_AT_data_member_location).ok()??;
        offset.udata_value()
    }

    fn is_fortran(&self, unit: usize) -> bool {
        self.language(unit) == Some(Language::Fortran)
    }

    fn member(&mut self, place: Place, base: bool) -> Option<Member> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        let number = |name| entry.attr_value(name).ok()??.udata_value();
        let of = self.attribute_place(place, gimli::DW_AT_type)?;
        let bits = number(gimli::DW_AT_data_bit_offset);
        let offset = number(gimli::DW_AT_data_member_location);
        // Before DWARF 4 bits were counted from the highest one of a unit.
        let older = || {
            let unit = number(gimli::DW_AT_byte_size).or_else(|| self.byte_size(of))?;
            let end =
                number(gimli::DW_AT_bit_offset)?.checked_add(number(gimli::DW_AT_bit_size)?)?;
            offset?.checked_add(unit)?.checked_mul(8)?.checked_sub(end)
        };
        let bits = bits.or_else(older);
        let count = bits.and(number(gimli::DW_AT_bit_size)).unwrap_or(0);
        // What spans more than eight bytes is left to the whole member.
        let bits = bits.filter(|bits| count > 0 && bits % 8 + count <= 64);
        let base_at = expression(&entry, gimli::DW_AT_data_member_location, unit.encoding());
        let offset = bits.map(|bits| bits / 8).or(offset);
        // A static member is a variable elsewhere.
        let offset = match offset {
            None if has_flag(&entry, gimli::DW_AT_external) => return None,
            offset => offset.unwrap_or(0),
        };
        Some(Member {
            base: base_at,
            bits: bits.map(|bits| Bits {
                first: (bits % 8) as u32,
                count: count as u32,
            }),
            name: if base {
                String::new()
            } else {
                self.name(place).unwrap_or_default()
            },
            of: self.type_at(of),
            offset,
        })
    }

    fn array(&mut self, place: Place) -> Option<Type> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        // The number of dimensions of an assumed-rank argument is not known.
        if entry.attr(gimli::DW_AT_rank).ok()?.is_some() {
            return None;
        }
        let encoding = unit.encoding();
        let expression = |name| expression(&entry, name, encoding);
        let ordering = entry.attr_value(gimli::DW_AT_ordering).ok()?;
        let location = expression(gimli::DW_AT_data_location);
        let associated = expression(gimli::DW_AT_associated);
        let allocated = expression(gimli::DW_AT_allocated);
        let pointer = allocated.is_none() && associated.is_some();
        let present = allocated.or(associated);
        let by_column = matches!(
            ordering,
            Some(AttributeValue::Ordering(gimli::DW_ORD_col_major))
        );
        let of = self.attribute_place(place, gimli::DW_AT_type)?;
        let mut extents = Vec::new();
        for (tag, child) in self.children(place) {
            if tag == gimli::DW_TAG_subrange_type {
                extents.push(self.extent(child)?);
            }
        }
        // The elements of a descriptor are elsewhere: they may be of the type that the descriptor is in.
        let element = match &location {
            Some(_) => self.type_later(of),
            None => self.type_at(of),
        };
        Some(Type::Array(Array {
            element,
            extents,
            location,
            present,
            pointer,
            by_column,
        }))
    }

    fn extent(&self, place: Place) -> Option<Extent> {
        let lower = self.number(place, gimli::DW_AT_lower_bound);
        let unit = self.units.get(place.0)?;
        let default = match unit.entries().next_dfs().ok()? {
            Some((_, entry)) => match entry.attr_value(gimli::DW_AT_language).ok()? {
                Some(AttributeValue::Language(language)) => language.default_lower_bound(),
                _ => None,
            },
            None => None,
        };
        let default = default.and_then(|lower| i64::try_from(lower).ok());
        Some(Extent {
            lower: lower.unwrap_or(Number::Known(default.unwrap_or(0))),
            upper: self.number(place, gimli::DW_AT_upper_bound),
            count: self.number(place, gimli::DW_AT_count),
            stride: self.number(place, gimli::DW_AT_byte_stride),
        })
    }

    fn number(&self, place: Place, name: gimli::DwAt) -> Option<Number> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        let value = entry.attr_value(name).ok()??;
        match value {
            AttributeValue::Exprloc(_) => {
                expression(&entry, name, unit.encoding()).map(Number::Computed)
            }
            AttributeValue::UnitRef(offset) => {
                // The variable that has it.
                let other = (place.0, offset);
                let found = self.expression(other, gimli::DW_AT_location, self.at)?;
                let of = self.attribute_place((place.0, offset), gimli::DW_AT_type);
                Some(Number::At(found, self.byte_size(of?).unwrap_or(8)))
            }
            AttributeValue::Sdata(value) => Some(Number::Known(value)),
            value => value.udata_value().map(|value| Number::Known(value as i64)),
        }
    }

    pub(super) fn byte_size(&self, place: Place) -> Option<u64> {
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        let size = entry.attr_value(gimli::DW_AT_byte_size).ok()??;
        size.udata_value().filter(|size| *size <= 8)
    }

    /// The length of a text is at the place that the attribute tells.
    fn text_length(&self, place: Place) -> Option<Number> {
        let at = self.number(place, gimli::DW_AT_string_length)?;
        let unit = self.units.get(place.0)?;
        let entry = unit.entry(place.1).ok()?;
        let size = entry
            .attr_value(gimli::DW_AT_string_length_byte_size)
            .ok()?;
        let size = size.and_then(|size| size.udata_value()).unwrap_or(8);
        Some(match at {
            Number::Computed(expression) => Number::At(expression, size),
            known => known,
        })
    }
}

fn expression(
    entry: &Entry<'_, '_>,
    name: gimli::DwAt,
    encoding: gimli::Encoding,
) -> Option<Expression> {
    match entry.attr_value(name).ok()?? {
        AttributeValue::Exprloc(found) => Some(Expression {
            bytes: found.0.slice().to_vec(),
            encoding,
        }),
        _ => None,
    }
}

/// `real(kind=8)` is shown as `real(8)`.
fn scalar(name: String, size: u64, encoding: Option<AttributeValue<super::locate::Slice>>) -> Type {
    let kind = match encoding {
        Some(AttributeValue::Encoding(encoding)) => match encoding {
            gimli::DW_ATE_float => Kind::Real,
            gimli::DW_ATE_complex_float => Kind::Complex,
            gimli::DW_ATE_signed => Kind::Signed,
            gimli::DW_ATE_unsigned => Kind::Unsigned,
            _ => Kind::Bytes,
        },
        _ => Kind::Bytes,
    };
    let name = name.replace("(kind=", "(");
    Type::Scalar { kind, size, name }
}
