import Foundation
import Testing

/// What the fuzzer has found, and what it begins with, read once more without it.
@Suite("Inputs of the fuzz targets")
struct CorpusTests {
  // Tests/Fuzz/Replay/CorpusTests.swift → Tests/Fuzz/corpus
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("corpus")

  private static func files(of target: String) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: folder.appendingPathComponent(target), includingPropertiesForKeys: nil
    ).sorted { $0.path < $1.path }
  }

  @Test(
    "each kept input of a reader is read without a trap, and so are its seeds", arguments: FuzzTarget.all.map(\.name))
  func replays(_ name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let kept = try CorpusTests.files(of: name)
    #expect(!kept.isEmpty)
    for file in kept {
      let input = [UInt8](try Data(contentsOf: file))
      let finding = input.withUnsafeBytes { target.run($0) }
      #expect(finding == nil, "\(file.lastPathComponent)")
    }
    let seeds = target.seeds()
    #expect(!seeds.isEmpty)
    for (index, seed) in seeds.enumerated() {
      #expect(seed.withUnsafeBytes { target.run($0) } == nil, "seed \(index)")
    }
  }

  @Test("the kept inputs are few and small, and each folder is that of a target")
  func size() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: CorpusTests.folder.path)
    #expect(Set(names) == Set(FuzzTarget.all.map(\.name)))
    let sizes = try names.flatMap { try CorpusTests.files(of: $0) }
      .map { try $0.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0 }
    #expect(sizes.count <= 200)
    #expect(sizes.reduce(0, +) <= 307_200)
  }
}
