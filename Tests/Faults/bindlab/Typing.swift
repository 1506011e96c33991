import ArgumentParser
import BindingPeer
import BindingProtocol
import Foundation
import Simulation

/// A text that several peers edit.
private struct Sheet: Model {
  @Field(policy: .text) var text = ""
}

/// A person at a keyboard, in a process of its own: one letter at a time, at positions drawn from a seed.
struct Typing: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "type", abstract: "Type letters into the text of a model while others do the same.",
    discussion: """
      The field is 'text', with the policy text. Each letter is another one, from --first on, so that whoever looks at \
      the text sees which is lost or there twice; some blanks are typed too. Standard input: 'go' types, 'look' prints \
      the text as a line of JSON; its end ends. Says 'typed' when all letters are.
      """)

  @Argument(help: "The model.")
  var model: String
  @Option(help: "The first letter's code point.")
  var first: UInt32 = 0xAC00
  @Option(help: "How many letters.")
  var count: UInt32 = 300
  @Option(help: "Milliseconds from one letter to the next.")
  var every = 30
  @Option(help: "Where to type.")
  var seed: UInt64 = 1

  func run() async throws {
    let peer = try Peer(name: "typist")
    try await work(peer)
    await peer.close(flush: .seconds(5))
  }

  @MainActor private func work(_ peer: Peer) async throws {
    let sheet = try await peer.share(Sheet.self, id: model)
    report("ready")
    var typing: Task<Void, any Error>?
    for await command in Work.commands {
      switch command {
      case "go": typing = Task { @MainActor in try await type(into: sheet) }
      case "look": report(JSON.object([.init("text", .string(sheet.text))]).text)
      default: FileHandle.standardError.write(Data("bindlab: '\(command)'? go or look\n".utf8))
      }
    }
    try await typing?.value
  }

  @MainActor private func type(into sheet: Sheet) async throws {
    var random = SeededGenerator(seed: seed)
    var last: Character?
    let (clock, pause) = (ContinuousClock(), Duration.milliseconds(every))
    var due = clock.now
    for number in 0..<count {
      var text = sheet.text
      // The caret: after the last letter, or now and then anywhere.
      var position = last.flatMap(text.firstIndex).map(text.index(after:)) ?? text.endIndex
      if random.next() % 6 == 0 {
        position = text.index(text.startIndex, offsetBy: Int(random.next() % UInt64(text.count + 1)))
      }
      guard let letter = Unicode.Scalar(first + number).map(Character.init) else { throw ValidationError("--first") }
      text.insert(contentsOf: random.next() % 5 == 0 ? " \(letter)" : "\(letter)", at: position)
      sheet.text = text
      last = letter
      // When this is late, several letters are typed in succession.
      due += pause
      try await clock.sleep(until: due)
    }
    report("typed")
  }

  private func report(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
