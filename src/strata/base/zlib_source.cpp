// SPDX-License-Identifier: Apache-2.0
#include "strata/base/byte_source.hpp"
#include "strata/base/error.hpp"

#include <zlib.h>

#include <vector>

namespace strata {
namespace {

constexpr std::size_t packed_bytes = std::size_t{256} << 10;
constexpr int any_header = 15 + 32;  // the largest window; gzip or zlib, as the stream says

class UnzippedSource : public ByteSource {
 public:
  explicit UnzippedSource(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)), buffer_(packed_bytes) {
    if (inflateInit2(&stream_, any_header) != Z_OK)
      fail(ErrorKind::environment, "zlib cannot be started");
  }
  ~UnzippedSource() override { inflateEnd(&stream_); }
  UnzippedSource(const UnzippedSource&) = delete;
  UnzippedSource& operator=(const UnzippedSource&) = delete;

  std::size_t read(std::span<char> room) override {
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(room.size());
    while (stream_.avail_out == room.size() && !room.empty()) {
      if (stream_.avail_in == 0) refill();
      if (stream_.avail_in == 0) {
        if (is_between_members_) return 0;
        fail(ErrorKind::input, "the compressed file is cut off");
      }
      is_between_members_ = false;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {  // files that were appended have several members
        is_between_members_ = true;
        inflateReset(&stream_);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail(ErrorKind::input, "the compressed file is damaged ({})",
             stream_.msg == nullptr ? "zlib" : stream_.msg);
      }
    }
    return room.size() - stream_.avail_out;
  }

 private:
  void refill() {
    stream_.avail_in = static_cast<uInt>(packed_->read(buffer_));
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
  }

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> buffer_;
  z_stream stream_ = {};
  bool is_between_members_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> unzipped(std::unique_ptr<ByteSource> source) {
  return std::make_unique<UnzippedSource>(std::move(source));
}

}  // namespace strata
