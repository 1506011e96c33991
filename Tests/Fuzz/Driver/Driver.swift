/// Links the targets with libFuzzer. BINDBUS_FUZZ_TARGET names one; with BINDBUS_FUZZ_SEEDS its seeds are written to
/// that folder, and nothing is run.
import Glibc

@_silgen_name("bindbus_fuzz") func fuzz(_ index: Int32, _ bytes: UnsafeRawPointer?, _ count: Int)
@_silgen_name("bindbus_fuzz_target") func target(named name: UnsafePointer<CChar>) -> Int32
@_silgen_name("bindbus_fuzz_seeds") func seeds(_ index: Int32, _ folder: UnsafePointer<CChar>) -> Int32

private func chosen() -> Int32 {
  guard let name = getenv("BINDBUS_FUZZ_TARGET") else {
    print("fuzz: BINDBUS_FUZZ_TARGET names no target")
    exit(64)
  }
  let index = target(named: name)
  guard index >= 0 else {
    print("fuzz: there is no target '\(String(cString: name))'")
    exit(64)
  }
  return index
}

private let index = chosen()

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
  _ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutableRawPointer
) -> Int32 {
  guard let folder = getenv("BINDBUS_FUZZ_SEEDS") else { return 0 }
  exit(seeds(index, folder) < 0 ? 74 : 0)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func test(_ bytes: UnsafeRawPointer, _ count: Int) -> Int32 {
  fuzz(index, bytes, count)
  return 0
}
