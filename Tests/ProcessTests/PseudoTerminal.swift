import Foundation
import Testing

/// A program at a terminal of its own, whose screen can be read. It understands what programs of this package send:
/// places, erasing, and the screen beside the usual one.
final class PseudoTerminal {
  private let process = Process()
  private let master: FileHandle
  private let grid: Grid

  init(
    _ program: String, _ arguments: [String], rows: Int = 24, columns: Int = 80, variables: [String: String] = [:]
  ) throws {
    let (descriptor, slave) = try #require(PseudoTerminal.open())
    var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    try #require(ioctl(slave, UInt(TIOCSWINSZ), &size) == 0)
    master = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    grid = Grid(rows: rows, columns: columns)
    let terminal = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["TERM": "xterm"]) { $1 }
      .merging(variables) { $1 }
    (process.standardInput, process.standardOutput, process.standardError) = (terminal, terminal, terminal)
    try process.run()
    // The program's are the last ends, so that its end is one of the terminal.
    try terminal.close()
    let (master, grid) = (master, grid)
    Thread.detachNewThread {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      // The end of the last process at it is an error of the master's.
      while case let count = read(master.fileDescriptor, &buffer, buffer.count), count > 0 {
        grid.take(Array(buffer[..<count]))
      }
      grid.end()
    }
  }

  /// Both ends; nil: there are no more terminals.
  private static func open() -> (master: Int32, slave: Int32)? {
    #if os(Linux)
      // What posix_openpt, unlockpt and ptsname do, which the module of the C library does not offer.
      let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
      let descriptor = Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY)
      var (isLocked, number): (Int32, UInt32) = (0, 0)
      guard descriptor >= 0, ioctl(descriptor, unlock, &isLocked) == 0, ioctl(descriptor, getNumber, &number) == 0
      else { return nil }
      let slave = Glibc.open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
    #else
      let descriptor = posix_openpt(O_RDWR | O_NOCTTY)
      guard descriptor >= 0, grantpt(descriptor) == 0, unlockpt(descriptor) == 0, let name = ptsname(descriptor) else {
        return nil
      }
      let slave = Darwin.open(name, O_RDWR | O_NOCTTY)
    #endif
    return slave < 0 ? nil : (descriptor, slave)
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  func type(_ text: String) { try? master.write(contentsOf: Data(text.utf8)) }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// The lines that show now.
  var lines: [String] { grid.lines }

  /// Whether the program has the screen beside the usual one.
  var isFullScreen: Bool { grid.isOther }

  /// Waits until a line does; false if none does within 20 s.
  func shows(_ matches: (String) -> Bool) -> Bool { waits { lines.contains(where: matches) } }

  func shows(_ words: String) -> Bool { shows { $0.contains(words) } }

  /// Waits for something, for at most 20 s.
  func waits(for condition: () -> Bool) -> Bool {
    let end = Date(timeIntervalSinceNow: 20)
    while !condition() {
      if Date() > end { return false }
      usleep(5_000)
    }
    return true
  }

  /// Waits for the end of the program and for all that it has sent; nil if it does not end within 20 s.
  func end() -> Int32? { waits { !process.isRunning && grid.isAtEnd } ? process.terminationStatus : nil }

  /// Whether each key is sent at once and unseen.
  var isRaw: Bool {
    var mode = termios()
    return tcgetattr(master.fileDescriptor, &mode) == 0 && mode.c_lflag & tcflag_t(ICANON) == 0
  }
}

/// What a terminal shows.
private final class Grid: @unchecked Sendable {  // SAFETY: all mutable state is touched only under `lock`
  private let lock = NSLock()
  private let columns: Int
  private var cells: [[Character]]
  private var place = (row: 0, column: 0)
  private var pending: [UInt8] = []
  private var isOnOther = false
  private var hasEnded = false

  init(rows: Int, columns: Int) {
    self.columns = columns
    cells = Array(repeating: Array(repeating: " ", count: columns), count: rows)
  }

  var lines: [String] {
    lock.withLock { cells.map { String(String($0).reversed().drop { $0 == " " }.reversed()) } }
  }

  var isOther: Bool { lock.withLock { isOnOther } }

  /// Whether nothing more will be sent.
  var isAtEnd: Bool { lock.withLock { hasEnded } }

  func end() { lock.withLock { hasEnded = true } }

  func take(_ bytes: [UInt8]) {
    lock.withLock {
      pending += bytes
      // What is cut in the middle of a character or sequence waits for the rest.
      while let count = step() { pending.removeFirst(count) }
    }
  }

  private func step() -> Int? {
    guard let first = pending.first else { return nil }
    if first == 0x1B {
      guard let end = pending.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else { return nil }
      perform(Character(Unicode.Scalar(pending[end])), String(decoding: pending[2..<end], as: UTF8.self))
      return end + 1
    }
    if first == 0x0D { place.column = 0 }
    if first == 0x0A { place.row += 1 }
    guard first >= 0x20 else { return 1 }
    let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard pending.count >= length else { return nil }
    if cells.indices.contains(place.row), place.column < columns {
      cells[place.row][place.column] = Character(String(decoding: pending[..<length], as: UTF8.self))
    }
    place.column += 1
    return length
  }

  private func perform(_ final: Character, _ parameters: String) {
    let numbers = parameters.split(separator: ";").compactMap { Int($0) }
    switch final {
    case "H": place = (row: (numbers.first ?? 1) - 1, column: (numbers.dropFirst().first ?? 1) - 1)
    case "K" where cells.indices.contains(place.row):
      for column in min(place.column, columns)..<columns { cells[place.row][column] = " " }
    case "J": cells = cells.map { _ in Array(repeating: " ", count: columns) }
    case "h" where parameters == "?1049": isOnOther = true
    case "l" where parameters == "?1049":
      isOnOther = false
      cells = cells.map { _ in Array(repeating: " ", count: columns) }
      place = (row: 0, column: 0)
    default: break
    }
  }
}
