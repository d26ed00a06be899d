// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

/// Which columns of Strata's own database stand for which field, once for reading and writing.
namespace strata {

/// A column holds whole numbers; null is what is not known.
template <class Row>
struct RowColumn {
  std::string_view name;
  std::optional<std::int64_t> (*get)(const Row& row);
  /// Whether the field can hold it.
  bool (*set)(Row& row, std::optional<std::int64_t> number);
};

/// What an unknown number is in a row.
enum class Unknown : std::uint8_t { none, all_ones, minus_one };

template <class Field>
bool store(Field& field, std::optional<std::int64_t> number, Unknown unknown, std::int64_t most) {
  if (!number) {
    if constexpr (!std::is_enum_v<Field> && !std::is_same_v<Field, bool>) {
      field = static_cast<Field>(-1);  // all ones where there is no sign
      return unknown != Unknown::none;
    }
    return false;
  }
  if constexpr (!std::is_same_v<Field, std::int64_t> && !std::is_same_v<Field, std::uint64_t>) {
    if (*number < 0 || *number > most) return false;
  }
  field = static_cast<Field>(*number);
  return true;
}

template <class Field>
std::optional<std::int64_t> fetch(const Field& field, Unknown unknown) {
  if constexpr (!std::is_enum_v<Field> && !std::is_same_v<Field, bool>) {
    if (unknown != Unknown::none && field == static_cast<Field>(-1)) return std::nullopt;
  }
  return static_cast<std::int64_t>(field);
}

template <class Class, class Field>
Class class_of_member(Field Class::*);
template <class Class, class Field>
Field field_of_member(Field Class::*);

template <class Field>
constexpr std::int64_t most_of_field() {
  if constexpr (std::is_same_v<Field, bool>) return 1;
  if constexpr (std::is_same_v<Field, MemoryKind>) return int(MemoryKind::array);
  if constexpr (std::is_same_v<Field, CopyKind>) return int(CopyKind::host_to_host);
  if constexpr (std::is_same_v<Field, ApiKind>) return int(ApiKind::driver);
  if constexpr (std::is_same_v<Field, SyncKind>) return int(SyncKind::context);
  if constexpr (std::is_same_v<Field, RangeKind>) return int(RangeKind::call);
  return std::int64_t{0xffffffff};
}

template <auto Member, Unknown unknown = Unknown::none>
constexpr auto row_column(std::string_view name) {
  using Row = decltype(class_of_member(Member));
  using Field = decltype(field_of_member(Member));
  return RowColumn<Row>{name, [](const Row& row) { return fetch(row.*Member, unknown); },
                        [](Row& row, std::optional<std::int64_t> number) {
                          return store(row.*Member, number, unknown, most_of_field<Field>());
                        }};
}

template <class Row, std::int64_t TimeSpan::*Member>
constexpr auto time_column(std::string_view name) {
  return RowColumn<Row>{name, [](const Row& row) { return std::optional(row.time.*Member); },
                        [](Row& row, std::optional<std::int64_t> number) {
                          return store(row.time.*Member, number, Unknown::none, 0);
                        }};
}

template <auto Member, std::size_t at>
constexpr auto extent_column(std::string_view name) {
  using Row = decltype(class_of_member(Member));
  return RowColumn<Row>{name,
                        [](const Row& row) { return fetch((row.*Member)[at], Unknown::none); },
                        [](Row& row, std::optional<std::int64_t> number) {
                          return store((row.*Member)[at], number, Unknown::none, 0xffffffff);
                        }};
}

template <class Row>
inline constexpr auto start_column = time_column<Row, &TimeSpan::start_ns>("start_ns");
template <class Row>
inline constexpr auto end_column = time_column<Row, &TimeSpan::end_ns>("end_ns");

inline constexpr RowColumn<KernelRecord> kernel_columns[] = {
    start_column<KernelRecord>,
    end_column<KernelRecord>,
    row_column<&KernelRecord::name>("name"),
    row_column<&KernelRecord::device, Unknown::all_ones>("device"),
    row_column<&KernelRecord::stream>("stream"),
    row_column<&KernelRecord::correlation>("correlation"),
    row_column<&KernelRecord::graph_node>("graph_node"),
    extent_column<&KernelRecord::grid, 0>("grid_x"),
    extent_column<&KernelRecord::grid, 1>("grid_y"),
    extent_column<&KernelRecord::grid, 2>("grid_z"),
    extent_column<&KernelRecord::block, 0>("block_x"),
    extent_column<&KernelRecord::block, 1>("block_y"),
    extent_column<&KernelRecord::block, 2>("block_z"),
    row_column<&KernelRecord::registers, Unknown::all_ones>("registers"),
    row_column<&KernelRecord::static_shared_bytes, Unknown::all_ones>("static_shared_bytes"),
    row_column<&KernelRecord::dynamic_shared_bytes, Unknown::all_ones>("dynamic_shared_bytes"),
    row_column<&KernelRecord::origin, Unknown::all_ones>("origin"),
    row_column<&KernelRecord::message_bytes, Unknown::minus_one>("message_bytes")};

inline constexpr RowColumn<CopyRecord> copy_columns[] = {
    start_column<CopyRecord>,
    end_column<CopyRecord>,
    row_column<&CopyRecord::bytes, Unknown::minus_one>("bytes"),
    row_column<&CopyRecord::kind>("kind"),
    row_column<&CopyRecord::source>("source"),
    row_column<&CopyRecord::destination>("destination"),
    row_column<&CopyRecord::device, Unknown::all_ones>("device"),
    row_column<&CopyRecord::peer_device, Unknown::all_ones>("peer_device"),
    row_column<&CopyRecord::stream>("stream"),
    row_column<&CopyRecord::correlation>("correlation"),
    row_column<&CopyRecord::graph_node>("graph_node")};

inline constexpr RowColumn<FillRecord> fill_columns[] = {
    start_column<FillRecord>,
    end_column<FillRecord>,
    row_column<&FillRecord::bytes, Unknown::minus_one>("bytes"),
    row_column<&FillRecord::device, Unknown::all_ones>("device"),
    row_column<&FillRecord::stream>("stream"),
    row_column<&FillRecord::correlation>("correlation"),
    row_column<&FillRecord::graph_node>("graph_node")};

inline constexpr RowColumn<MemoryEvent> memory_columns[] = {
    row_column<&MemoryEvent::at_ns>("at_ns"),
    row_column<&MemoryEvent::address>("address"),
    row_column<&MemoryEvent::bytes, Unknown::minus_one>("bytes"),
    row_column<&MemoryEvent::total_bytes, Unknown::minus_one>("total_bytes"),
    row_column<&MemoryEvent::device, Unknown::all_ones>("device"),
    row_column<&MemoryEvent::place>("place"),
    row_column<&MemoryEvent::is_allocation>("is_allocation"),
    row_column<&MemoryEvent::is_framework>("is_framework")};

inline constexpr RowColumn<ApiRecord> call_columns[] = {
    start_column<ApiRecord>,
    end_column<ApiRecord>,
    row_column<&ApiRecord::name>("name"),
    row_column<&ApiRecord::thread>("thread"),
    row_column<&ApiRecord::correlation>("correlation"),
    row_column<&ApiRecord::kind>("kind")};

inline constexpr RowColumn<SyncRecord> sync_columns[] = {
    start_column<SyncRecord>,
    end_column<SyncRecord>,
    row_column<&SyncRecord::kind>("kind"),
    row_column<&SyncRecord::device, Unknown::all_ones>("device"),
    row_column<&SyncRecord::stream>("stream"),
    row_column<&SyncRecord::correlation>("correlation")};

inline constexpr RowColumn<RangeRecord> range_columns[] = {
    start_column<RangeRecord>,
    end_column<RangeRecord>,
    row_column<&RangeRecord::name>("name"),
    row_column<&RangeRecord::thread>("thread"),
    row_column<&RangeRecord::domain>("domain"),
    row_column<&RangeRecord::kind>("kind"),
    row_column<&RangeRecord::id>("sequence"),
    row_column<&RangeRecord::is_backward>("is_backward"),
    row_column<&RangeRecord::inputs, Unknown::all_ones>("inputs")};

inline constexpr RowColumn<OverheadRecord> overhead_columns[] = {
    start_column<OverheadRecord>, end_column<OverheadRecord>,
    row_column<&OverheadRecord::name>("name"), row_column<&OverheadRecord::thread>("thread")};

}  // namespace strata
