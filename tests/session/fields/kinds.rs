//! Each kind, in each number of dimensions and each shape of memory.

use super::{load, save};
use crate::fields_on_ranks::{Devices, give};
use crate::site::{Site, nodes};
use scr::fields::{Class, Kind, List, Order, Place, Slice, Spec};

/// All kinds that the interfaces name.
fn kinds() -> Vec<Kind> {
    let sizes: [(Class, &[u32]); 9] = [
        (Class::Integer, &[1, 2, 4, 8, 16]),
        (Class::Unsigned, &[1, 2, 4, 8, 16]),
        (Class::Real, &[2, 4, 8, 16]),
        (Class::Complex, &[4, 8, 16, 32]),
        (Class::Logical, &[1, 2, 4, 8]),
        (Class::Character, &[0, 1, 7]),
        (Class::Bytes, &[24]),
        (Class::Extended, &[12, 16]),
        (Class::ExtendedComplex, &[24, 32]),
    ];
    let all = sizes
        .iter()
        .flat_map(|(class, sizes)| sizes.iter().map(|size| Kind::new(*class, *size)));
    all.collect()
}

/// A shape of memory.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Contiguous,
    /// A section: every second element of each dimension of a larger array.
    Strided,
    /// The slowest dimension backwards.
    Negative,
    /// No elements.
    Empty,
}

const SHAPES: [Shape; 4] = [
    Shape::Contiguous,
    Shape::Strided,
    Shape::Negative,
    Shape::Empty,
];

/// The memory of a field.
struct Array {
    kind: Kind,
    extents: Vec<i64>,
    strides: Option<Vec<i64>>,
    bytes: Vec<u8>,
    first: usize,
}

impl Array {
    fn new(kind: Kind, dims: usize, shape: Shape) -> Self {
        let size = kind.size() as i64;
        let mut extents: Vec<i64> = [3, 2, 4, 1, 2, 3, 2][..dims].to_vec();
        if let (Shape::Empty, Some(last)) = (shape, extents.last_mut()) {
            *last = 0;
        }
        let step = if matches!(shape, Shape::Strided) {
            2
        } else {
            1
        };
        let mut strides = vec![0; dims];
        let mut all = size;
        for dim in (0..dims).rev() {
            strides[dim] = all * step;
            all *= extents[dim] * step;
        }
        let mut first = 0;
        if let (Shape::Negative, Some(slowest)) = (shape, strides.first_mut()) {
            first = (*slowest * (extents[0] - 1)) as usize;
            *slowest = -*slowest;
        }
        Array {
            kind,
            extents,
            strides: (!matches!(shape, Shape::Contiguous)).then_some(strides),
            bytes: vec![0xee; all as usize],
            first,
        }
    }

    fn fill(mut self, seed: usize) -> Self {
        for (i, byte) in self.bytes.iter_mut().enumerate() {
            *byte = (i * 31 + seed * 7 + 1) as u8;
        }
        self
    }

    fn list(&mut self, list: &mut List<'_>, name: &str) -> scr::Result<()> {
        let spec = Spec {
            name,
            kind: self.kind,
            extents: &self.extents,
            strides: self.strides.as_deref(),
            place: Place::Own,
        };
        let (first, length) = (self.first, self.bytes.len());
        let mut memory = Slice::of_bytes(&mut self.bytes, first);
        give(list, spec, &mut memory, (first, length))
    }

    /// The values of the elements in row-major order.
    fn elements(&self) -> Vec<Vec<u8>> {
        let size = self.kind.size() as usize;
        let dims = self.extents.len();
        let row_major: Vec<i64> = (0..dims)
            .map(|dim| self.extents[dim + 1..].iter().product::<i64>() * size as i64)
            .collect();
        let strides = self.strides.as_ref().unwrap_or(&row_major);
        let count: i64 = self.extents.iter().product();
        let place = |number: i64| {
            let mut rest = number;
            let mut offset = self.first as i64;
            for dim in (0..dims).rev() {
                offset += rest % self.extents[dim] * strides[dim];
                rest /= self.extents[dim];
            }
            offset as usize
        };
        let element = |number: i64| {
            let mut element = self.bytes[place(number)..place(number) + size].to_vec();
            self.kind.clear_padding(&mut element);
            element
        };
        (0..count).map(element).collect()
    }
}

#[test]
fn every_kind_in_every_shape_comes_back_and_nothing_beside_it_changes() {
    let site = Site::in_memory();
    let cases: Vec<(Kind, usize, Shape)> = kinds()
        .into_iter()
        .flat_map(|kind| [0, 1, 3, 7].map(|dims| (kind, dims)))
        .flat_map(|(kind, dims)| SHAPES.map(|shape| (kind, dims, shape)))
        .collect();
    let name = |(kind, dims, shape): &(Kind, usize, Shape)| format!("{kind} {dims} {shape:?}");
    let arrays = |seed: Option<usize>| -> Vec<Array> {
        let one = |case: &(Kind, usize, Shape)| {
            let array = Array::new(case.0, case.1, case.2);
            seed.map_or_else(
                || Array::new(case.0, case.1, case.2),
                |seed| array.fill(seed),
            )
        };
        cases.iter().map(one).collect()
    };
    // The first rank has all fields on a device when it writes, and the second one when it reads.
    let on_devices = |here| {
        if here {
            Devices::all().use_now();
        } else {
            Devices::none();
        }
    };
    site.run(&nodes(2), |rank| {
        on_devices(rank.rank == 0);
        let mut arrays = arrays(Some(rank.rank));
        let listed = |list: &mut List<'_>| {
            let mut all = arrays.iter_mut().zip(&cases);
            all.try_for_each(|(array, case)| array.list(list, &name(case)))
        };
        save(rank, "ck.1", listed).unwrap();
    });
    site.run(&nodes(2), |rank| {
        on_devices(rank.rank == 1);
        let mut restored = arrays(None);
        let listed = |list: &mut List<'_>| {
            let mut all = restored.iter_mut().zip(&cases);
            all.try_for_each(|(array, case)| array.list(list, &name(case)))
        };
        assert_eq!(load(rank, listed).unwrap().as_deref(), Some("ck.1"));
        for ((array, written), case) in restored.iter().zip(arrays(Some(rank.rank))).zip(&cases) {
            assert_eq!(array.elements(), written.elements(), "{}", name(case));
            // What lies between the elements of a section stays.
            let size = array.kind.size() as usize;
            let inside = array.elements().len() * size;
            let untouched = array.bytes.iter().filter(|byte| **byte == 0xee).count();
            assert!(untouched >= array.bytes.len() - inside, "{}", name(case));
        }
    });
}

#[test]
fn bytes_beside_a_value_may_differ_between_ranks_that_have_the_same() {
    Site::in_memory().run(&nodes(2), |rank| {
        let mut bytes = [7; 16];
        bytes[10..].fill(rank.rank as u8);
        let listed = |list: &mut List<'_>| {
            let spec = Spec {
                name: "x",
                kind: Kind::new(Class::Extended, 16),
                extents: &[],
                strides: None,
                place: Place::Same,
            };
            list.field(spec, Some(&mut Slice::of_bytes(&mut bytes, 0)))
        };
        save(rank, "ck.1", listed).unwrap();
    });
}

/// An array of Fortran is the array of C with its dimensions turned round, in the same file.
#[test]
fn fortran_and_c_name_the_dimensions_in_their_order() {
    let site = Site::in_memory();
    let density = |list: &mut List<'_>, extents: &[i64], data: &mut [f64]| {
        let spec = Spec {
            name: "density",
            kind: Kind::new(Class::Real, 8),
            extents,
            strides: None,
            place: Place::Own,
        };
        list.field(spec, Some(&mut Slice::new(data)))
    };
    site.run(&nodes(1), |rank| {
        let mut data: Vec<f64> = (0..6).map(f64::from).collect();
        save(rank, "ck.1", |list| {
            list.set_order(Order::Column);
            density(list, &[3, 2], &mut data)
        })
        .unwrap();
    });
    site.run(&nodes(1), |rank| {
        let mut data = [0.0; 6];
        let found = load(rank, |list| {
            let stored = list.stored("density")?.expect("it is there");
            assert_eq!(stored.extents, [2, 3]);
            density(list, &stored.extents, &mut data)
        });
        assert!(found.unwrap().is_some());
        assert_eq!(data, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    });
}

/// Large fields go to the file without a copy, and small ones through a buffer.
#[test]
fn fields_larger_than_all_buffers_come_back() {
    let site = Site::in_memory();
    let sizes = [1usize, 63, 8191, 8192, 8193, 262_144, 1_000_003, 9_000_001];
    let content = |size: usize| -> Vec<f64> { (0..size).map(|i| (i * 3 + size) as f64).collect() };
    site.run(&nodes(1), |rank| {
        let mut fields: Vec<Vec<f64>> = sizes.iter().map(|size| content(*size)).collect();
        save(rank, "ck.1", |list| {
            let mut all = fields.iter_mut().enumerate();
            all.try_for_each(|(i, field)| super::own(list, &format!("f{i}"), field))
        })
        .unwrap();
        let mut fields: Vec<Vec<f64>> = sizes.iter().map(|size| vec![0.0; *size]).collect();
        let found = load(rank, |list| {
            let mut all = fields.iter_mut().enumerate();
            all.try_for_each(|(i, field)| super::own(list, &format!("f{i}"), field))
        });
        assert!(found.unwrap().is_some());
        let right = fields
            .iter()
            .zip(&sizes)
            .all(|(field, size)| *field == content(*size));
        assert!(right);
    });
}
