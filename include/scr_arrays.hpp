// What can be a field of a checkpoint in C++17. Part of scr.hpp; scr_fields.hpp says how a program lists its state.
//
//     numbers, bool, char, enums, std::complex, and (nested) arrays of them: double[2][3], std::array
//     std::vector and std::string; std::span in C++20, std::mdspan in C++23
//     scr::view(pointer or container, extents): an array of up to 7 dimensions, also with strides
//     scr::device_view(pointer, extents): the same in memory of a device
//     what has rank, data(), extent(i) and stride(i), as Kokkos::View
//     scr::bytes(any of these): trivially copyable structures, in which there must be no pointer
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef SCR_ARRAYS_HPP
#define SCR_ARRAYS_HPP

#ifndef SCR_HPP
#error "include scr.hpp"
#endif

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>
#if __cplusplus >= 202002L
#include <version>
#endif
#ifdef __cpp_lib_span
#include <span>
#endif
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace scr {

// One number for each dimension, at most 7: extents, strides, or an index. {rows, columns} makes one.
class Numbers {
public:
    static constexpr std::size_t most = 7;

    template <typename... N, typename = std::enable_if_t<(std::is_integral_v<N> && ...)>>
    Numbers(N... numbers) : numbers_ { static_cast<std::int64_t>(numbers)... }, size_(sizeof...(N))
    {
    }
    template <typename N, std::size_t Size>
    Numbers(const std::array<N, Size>& numbers)
    {
        for (const N number : numbers) add(number);
    }

    template <typename N> void add(N number)
    {
        if (size_ == most) throw Error("Numbers::add", 1, "more than 7 dimensions");
        numbers_[size_++] = static_cast<std::int64_t>(number);
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    std::int64_t& operator[](std::size_t dimension) { return numbers_[dimension]; }
    std::int64_t operator[](std::size_t dimension) const { return numbers_[dimension]; }
    const std::int64_t* begin() const noexcept { return numbers_.data(); }
    const std::int64_t* end() const noexcept { return begin() + size_; }

private:
    std::array<std::int64_t, most> numbers_ {};
    std::size_t size_ = 0;
};

// What may differ from the checkpoint, and where the memory is: Options {}.keep_if_missing().convert().
class Options {
public:
    // A checkpoint without this field can be restored, too: the memory stays as it is.
    constexpr Options keep_if_missing() const noexcept { return Options(bits_ | SCR_KEEP_IF_MISSING); }

    // Another type is converted if nothing can be lost, as from float to double.
    constexpr Options convert() const noexcept { return Options(bits_ | SCR_CONVERT); }

    // Of an index list: several processes may write an element, if their copies are equal, which is checked.
    constexpr Options shared() const noexcept { return Options(bits_ | SCR_SHARED); }

    // The memory is that of a device, which nobody need say: an error if no driver knows it as such.
    constexpr Options on_device() const noexcept { return Options(bits_ | SCR_ON_DEVICE); }

    // The processor reads and writes the memory, which may be that of a device, too: an error if it cannot.
    constexpr Options on_host() const noexcept { return Options(bits_ | SCR_ON_HOST); }

    constexpr Options() noexcept = default;
    constexpr int bits() const noexcept { return bits_; }

private:
    constexpr explicit Options(int bits) noexcept : bits_(bits) { }

    int bits_ = 0;
};

// Which index is the fastest, and named as such: a(3,2) in Fortran's order is a[2][3] in that of C.
enum class Order : int { row = SCR_ROW_MAJOR, column = SCR_COLUMN_MAJOR };

// An array in memory. Made by scr::view.
template <typename T> struct View {
    T* data;
    Numbers extents;
    Order order = Order::row;
    std::optional<Numbers> strides {}; // in elements; without them the elements lie one after the other
    std::optional<std::size_t> size {}; // how many there are, where that is known
    bool on_device = false; // an error if no driver knows the memory as that of a device
};

// An array at a pointer, whose elements lie one after the other.
template <typename T> View<T> view(T* data, const Numbers& extents, Order order = Order::row)
{
    return { data, extents, order };
}

// An array in which the next element of each dimension is so many elements further. May be negative.
template <typename T> View<T> view(T* data, const Numbers& extents, const Numbers& strides)
{
    return { data, extents, Order::row, strides };
}

// An array in memory of a device. scr::view takes it, too, as the driver is asked in any case; this one is an error if
// no driver that the program has loaded knows the pointer. The strides are in elements.
template <typename T> View<T> device_view(T* data, const Numbers& extents, Order order = Order::row)
{
    return { data, extents, order, std::nullopt, std::nullopt, true };
}
template <typename T> View<T> device_view(T* data, const Numbers& extents, const Numbers& strides)
{
    return { data, extents, Order::row, strides, std::nullopt, true };
}

// A vector, span or array as one of more dimensions. It must have as many elements as the extents say, and is
// not resized.
template <typename Container>
auto view(Container& data, const Numbers& extents, Order order = Order::row)
    -> View<std::remove_pointer_t<decltype(std::data(data))>>
{
    return { std::data(data), extents, order, std::nullopt, std::size(data) };
}

template <typename Data> struct Bytes {
    Data data; // a reference, or a view
};

// A trivially copyable structure, or an array of them, as bytes that only this program understands. There must be
// no pointer in it, as it would lead nowhere after a restart; no compiler can check this.
template <typename Data> Bytes<Data> bytes(Data&& data)
{
    return { std::forward<Data>(data) };
}

namespace detail {

template <typename T> struct IsComplex : std::false_type { };
template <typename T> struct IsComplex<std::complex<T>> : std::true_type { };

// The SCR_Type of T; 0 if there is none.
template <typename T> constexpr int type_of()
{
    constexpr int size = static_cast<int>(sizeof(T));
    if constexpr (std::is_enum_v<T>) {
        return type_of<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, bool>) {
        return SCR_LOGICAL8 - 1 + size;
    } else if constexpr (std::is_same_v<T, char>) {
        return SCR_CHARACTER + size;
    } else if constexpr (std::is_integral_v<T>) {
        return (std::is_signed_v<T> ? SCR_INT8 : SCR_UINT8) - 1 + size;
    } else if constexpr (std::is_floating_point_v<T>) {
        constexpr int digits = std::numeric_limits<T>::digits;
        constexpr bool ieee = digits == 11 || digits == 24 || digits == 53 || digits == 113;
        return ieee ? SCR_FLOAT32 - 4 + size : digits == 64 ? SCR_EXTENDED128 - 16 + size : 0;
    } else if constexpr (IsComplex<T>::value) {
        constexpr int part = type_of<typename T::value_type>();
        constexpr bool extended = part >= SCR_EXTENDED96;
        return part == 0 ? 0 : (extended ? SCR_EXTENDED_COMPLEX256 - 32 : SCR_COMPLEX64 - 8) + size;
    } else {
        return 0;
    }
}

// What the elements of an array are made of: the dimensions of arrays in it come last.
template <typename T> struct Element {
    using Scalar = T;
    static void add_extents(Numbers&) { }
};
template <typename T, std::size_t Size> struct Element<std::array<T, Size>> {
    using Scalar = typename Element<T>::Scalar;
    static void add_extents(Numbers& extents)
    {
        extents.add(Size);
        Element<T>::add_extents(extents);
    }
};
template <typename T, std::size_t Size> struct Element<T[Size]> : Element<std::array<T, Size>> { };

// A field as C takes it; strides are bytes.
struct Memory {
    void* data;
    int type;
    Numbers extents;
    std::optional<Numbers> strides;
    Order order;
    bool on_device;
};

// The distances, bytes, of elements which lie one after the other.
inline Numbers dense_strides(const Numbers& extents, Order order, std::size_t size)
{
    Numbers strides = extents;
    auto stride = static_cast<std::int64_t>(size);
    for (std::size_t i = 0; i < extents.size(); i++) {
        const std::size_t dimension = order == Order::column ? i : extents.size() - 1 - i;
        strides[dimension] = stride;
        stride *= extents[dimension];
    }
    return strides;
}

// Fills in the extents of the elements after those of the array, and the strides.
template <bool AsBytes, typename T> void add_inner(Memory& memory, const View<T>& view)
{
    Numbers inner;
    if constexpr (!AsBytes) Element<T>::add_extents(inner);
    if (view.strides) {
        memory.strides = *view.strides;
        for (std::size_t i = 0; i < memory.strides->size(); i++) {
            (*memory.strides)[i] *= static_cast<std::int64_t>(sizeof(T));
        }
    } else if (view.order == Order::column && !inner.empty()) {
        memory.strides = dense_strides(view.extents, view.order, sizeof(T));
    }
    for (const std::int64_t extent : inner) memory.extents.add(extent);
    if (!memory.strides) return;
    const Numbers strides = dense_strides(inner, Order::row, sizeof(typename Element<T>::Scalar));
    for (const std::int64_t stride : strides) memory.strides->add(stride);
}

// An array as C takes it; with AsBytes its elements are bytes. Refuses what cannot be a field.
template <bool AsBytes, typename T> Memory memory_of(const View<T>& view)
{
    using Scalar = std::conditional_t<AsBytes, T, typename Element<T>::Scalar>;
    static_assert(!std::is_const_v<Scalar>, "a restart reads into a field, so it cannot be const");
    static_assert(!std::is_pointer_v<Scalar>,
        "a pointer leads nowhere after a restart: list what it points to, with scr::view(pointer, {extents})");
    static_assert(!AsBytes || std::is_trivially_copyable_v<T>,
        "scr::bytes takes trivially copyable types: list the members of other objects, with State::list");
    static_assert(!AsBytes || sizeof(T) < (1 << 24), "scr::bytes takes structures of less than 16 MiB");
    static_assert(AsBytes || std::is_pointer_v<Scalar> || type_of<std::remove_cv_t<Scalar>>() != 0,
        "this type cannot be a field: list the members of an object with State::list, or pass a trivially copyable "
        "structure without pointers as scr::bytes(value)");
    constexpr int type = AsBytes ? SCR_BYTES + static_cast<int>(sizeof(T)) : type_of<std::remove_cv_t<Scalar>>();
    Memory memory { const_cast<std::remove_cv_t<T>*>(view.data), type, view.extents, std::nullopt, view.order,
        view.on_device };
    add_inner<AsBytes>(memory, view);
    return memory;
}

// True for an array with extents and strides of elements by number, as Kokkos::View.
template <typename T, typename = void> struct IsStrided : std::false_type { };
template <typename T>
struct IsStrided<T,
    std::void_t<decltype(static_cast<std::size_t>(T::rank)), decltype(std::declval<const T&>().data()),
        decltype(std::declval<const T&>().extent(0)), decltype(std::declval<const T&>().stride(0))>>
    : std::is_pointer<decltype(std::declval<const T&>().data())> { };

// All that can be a field is an array in memory.
template <typename T> auto view_of(T& value)
{
    if constexpr (IsStrided<std::remove_cv_t<T>>::value) {
        // By its indices, so that a restart can have another layout.
        using Pointer = decltype(value.data());
        View<std::remove_pointer_t<Pointer>> view { value.data(), {} };
        Numbers strides;
        for (std::size_t i = 0; i < static_cast<std::size_t>(T::rank); i++) {
            view.extents.add(value.extent(i));
            strides.add(value.stride(i));
        }
        view.strides = strides;
        return view;
    } else {
        return View<T> { &value, {} };
    }
}
template <typename T> View<T> view_of(View<T> view) { return view; }
template <typename T, typename Allocator> View<T> view_of(std::vector<T, Allocator>& vector)
{
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no array of bool: use std::vector<char>");
    return { vector.data(), vector.size() };
}
template <typename T, typename Traits, typename Allocator>
View<T> view_of(std::basic_string<T, Traits, Allocator>& text)
{
    return { text.data(), text.size() };
}
#ifdef __cpp_lib_span
template <typename T, std::size_t Size> View<T> view_of(std::span<T, Size> span)
{
    return { span.data(), span.size() };
}
#endif
#ifdef __cpp_lib_mdspan
// By its indices, so that a restart can have another layout.
template <typename T, typename E, typename Layout, typename Accessor>
View<T> view_of(std::mdspan<T, E, Layout, Accessor> array)
{
    static_assert(std::is_same_v<Accessor, std::default_accessor<T>>, "the elements have to be in memory");
    static_assert(std::mdspan<T, E, Layout, Accessor>::is_always_strided(), "the elements need strides");
    View<T> view { array.data_handle(), {} };
    Numbers strides;
    for (std::size_t i = 0; i < E::rank(); i++) {
        view.extents.add(array.extent(i));
        strides.add(array.stride(i));
    }
    if constexpr (!std::is_same_v<Layout, std::layout_right>) view.strides = strides;
    return view;
}
#endif

// True for what only refers to memory, so that a temporary one is as good.
template <typename T> struct Refers : IsStrided<std::remove_cv_t<T>> { };
template <typename T> struct Refers<View<T>> : std::true_type { };
template <typename T> struct Refers<Bytes<T>> : std::disjunction<std::is_reference<T>, Refers<T>> { };
#ifdef __cpp_lib_span
template <typename T, std::size_t Size> struct Refers<std::span<T, Size>> : std::true_type { };
#endif
#ifdef __cpp_lib_mdspan
template <typename... T> struct Refers<std::mdspan<T...>> : std::true_type { };
#endif

// True for what is resized to what is stored.
template <typename T> struct Resizes : std::false_type { };
template <typename... T> struct Resizes<std::vector<T...>> : std::true_type { };
template <typename... T> struct Resizes<std::basic_string<T...>> : std::true_type { };

template <typename T> struct IsBytes : std::false_type { };
template <typename T> struct IsBytes<Bytes<T>> : std::true_type { };

// The numbers of elements as C takes them: where they lie, or a copy of those of another type or with gaps.
class IdList {
public:
    template <typename T> IdList(const std::string& name, const View<T>& view) : IdList(name, view, 0) { }
    template <typename Container>
    IdList(const std::string& name, const Container& ids)
        : IdList(name, View<const std::remove_pointer_t<decltype(std::data(ids))>> { std::data(ids), std::size(ids) }, 0)
    {
    }
    IdList(const IdList&) = delete;
    IdList& operator=(const IdList&) = delete;

    const void* data() const noexcept { return data_; }
    int type() const noexcept { return type_; }
    std::int64_t count() const noexcept { return count_; }

private:
    template <typename T> IdList(const std::string& name, const View<T>& view, int) : data_(view.data)
    {
        using Id = std::remove_cv_t<T>;
        static_assert(std::is_integral_v<Id> && !std::is_same_v<Id, bool>, "the numbers of elements are integers");
        if (view.extents.size() != 1 || (view.strides && view.strides->size() != 1)) {
            throw Error("SCR_Index", 1, name + ", whose indices have " + std::to_string(view.extents.size())
                + " dimensions and not one");
        }
        count_ = view.extents[0];
        constexpr bool as_is = sizeof(Id) == 8 || (sizeof(Id) == 4 && std::is_signed_v<Id>);
        const std::int64_t stride = view.strides ? (*view.strides)[0] : 1;
        if (as_is && stride == 1) {
            type_ = sizeof(Id) == 4 ? SCR_INT32 : SCR_INT64;
        } else if (view.data != nullptr) {
            for (std::int64_t i = 0; i < count_; i++) copy_.push_back(static_cast<std::int64_t>(view.data[i * stride]));
            data_ = copy_.data();
        }
    }

    const void* data_;
    int type_ = SCR_INT64;
    std::int64_t count_ = 0;
    std::vector<std::int64_t> copy_;
};

} // namespace detail

} // namespace scr

#endif // SCR_ARRAYS_HPP
