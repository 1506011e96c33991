#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What the driver calls, which is linked with libFuzzer: runs a target, and traps when it returns a text.
@_cdecl("bindbus_fuzz")
public func fuzz(_ index: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) {
  let target = FuzzTarget.all[Int(index)]
  guard let finding = target.run(UnsafeRawBufferPointer(start: bytes, count: count)) else { return }
  // SAFETY: the fuzzer keeps the input of a process that ends like this, which is its purpose.
  fatalError("\(target.name): \(finding)")
}

/// The index of the target of that name, or -1.
@_cdecl("bindbus_fuzz_target")
public func fuzzTarget(named name: UnsafePointer<CChar>) -> Int32 {
  let name = String(cString: name)
  return Int32(FuzzTarget.all.firstIndex { $0.name == name } ?? -1)
}

/// Writes a target's seeds to files `seed-N` in a folder. Returns their number, or -1 if one cannot be written.
@_cdecl("bindbus_fuzz_seeds")
public func fuzzSeeds(_ index: Int32, _ folder: UnsafePointer<CChar>) -> Int32 {
  let seeds = FuzzTarget.all[Int(index)].seeds()
  for (number, seed) in seeds.enumerated() {
    guard let file = fopen("\(String(cString: folder))/seed-\(number)", "w") else { return -1 }
    defer { fclose(file) }
    guard fwrite(seed, 1, seed.count, file) == seed.count else { return -1 }
  }
  return Int32(seeds.count)
}
