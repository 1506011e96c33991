#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Compresses bytes as gzip (RFC 1952) with the system's zlib, if there is one. The library is loaded at run time,
/// so that it is no dependency of the build or the start.
enum Gzip {
  private typealias Compress =
    @convention(c) (
      UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt>, UnsafePointer<UInt8>?, UInt, CInt
    ) -> CInt
  private typealias Checksum = @convention(c) (UInt, UnsafePointer<UInt8>?, CUnsignedInt) -> UInt

  private static let library: (compress: Compress, checksum: Checksum)? = {
    let names = ["libz.so.1", "libz.1.dylib", "/usr/lib/libz.1.dylib"]
    guard let library = names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first,
      let compress = dlsym(library, "compress2"), let checksum = dlsym(library, "crc32")
    else { return nil }
    // SAFETY: the types are those of zlib.h, which have been the same since version 1.0: `uLong` is `unsigned long`.
    return (unsafeBitCast(compress, to: Compress.self), unsafeBitCast(checksum, to: Checksum.self))
  }()

  /// The bytes as a gzip file; nil without zlib, or if compression would not save space.
  static func packed(_ bytes: [UInt8]) -> [UInt8]? {
    guard let library, bytes.count > 256, bytes.count < Int(UInt32.max) else { return nil }
    var deflated = [UInt8](repeating: 0, count: bytes.count)
    var count = UInt(deflated.count)
    // Fails without enough room, which means that nothing is saved.
    guard library.compress(&deflated, &count, bytes, UInt(bytes.count), 9) == 0, count > 6 else { return nil }
    let checksum = UInt32(truncatingIfNeeded: library.checksum(0, bytes, CUnsignedInt(bytes.count)))
    let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255]
    // The bytes between zlib's header of two bytes and its checksum of four are also the body of a gzip file.
    return head + deflated[2..<Int(count) - 4] + little(checksum) + little(UInt32(bytes.count))
  }

  private static func little(_ number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
