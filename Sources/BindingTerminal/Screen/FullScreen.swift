import BindingModel
import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The whole terminal, for a program that draws on it and gets each key at once. What the terminal showed before comes
/// back on every way out but `kill -9`: also on signals, and when the program crashes.
///
/// One at a time. `draw` and `close` are for one thread.
public final class FullScreen {
  /// What may change what is to be drawn.
  public enum Event: Sendable, Equatable {
    /// A key was pressed.
    case key(Key)
    /// The terminal has another size now, or shows something else: draw again.
    case changed
    /// The terminal is gone.
    case ended
  }

  /// The number of lines and columns.
  public struct Size: Hashable, Sendable {
    /// Lines, 1 or more.
    public var rows: Int
    /// Columns, 1 or more.
    public var columns: Int

    /// Makes one.
    public init(rows: Int, columns: Int) { (self.rows, self.columns) = (rows, columns) }
  }

  private let isColoured: Bool
  private let reader: KeyReader
  private var drawn: [String] = []
  private var drawnSize: Size?
  private var drawnTurn: sig_atomic_t = 0
  private var signals: [any DispatchSourceSignal] = []

  /// Takes the terminal.
  /// - Parameters:
  ///   - isColoured: whether styles may have colours.
  ///   - handler: is given the events in order, on a thread of its own.
  /// - Returns: nil: standard input or output is no terminal, or one that cannot do this.
  public init?(isColoured: Bool, handler: @escaping @Sendable (Event) -> Void) {
    let kind = getenv("TERM").map { String(cString: $0) } ?? ""
    let isTerminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && !["", "dumb"].contains(kind)
    guard isTerminal, TerminalMode.take() else { return nil }
    self.isColoured = isColoured
    reader = KeyReader(handler)
    for number in [SIGWINCH, SIGCONT] {
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        if number == SIGCONT { TerminalMode.retake() }
        handler(.changed)
      }
      source.activate()
      signals.append(source)
    }
  }

  deinit { close() }

  /// The present size; 24 by 80 if the terminal does not tell.
  public var size: Size {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else {
      return Size(rows: 24, columns: 80)
    }
    return Size(rows: Int(size.ws_row), columns: Int(size.ws_col))
  }

  /// Shows these lines, those that fit. Only lines that differ from what was drawn before are sent.
  /// - Parameters:
  ///   - caret: where the caret stands, counted from 0; nil: there is none.
  public func draw(_ lines: [ScreenLine], caret: (row: Int, column: Int)? = nil) {
    let size = size
    let texts = lines.prefix(size.rows).map { $0.cut(to: size.columns).sequence(isColoured: isColoured) }
    var output = "\u{1B}[?25l"
    let turn = TerminalMode.turn
    if size != drawnSize || turn != drawnTurn {
      drawn = []
      output += "\u{1B}[2J"
    }
    (drawnSize, drawnTurn) = (size, turn)
    for row in 0..<size.rows {
      let (old, new) = (row < drawn.count ? drawn[row] : "", row < texts.count ? texts[row] : "")
      if old != new { output += "\u{1B}[\(row + 1);1H\(new)\u{1B}[K" }
    }
    drawn = Array(texts)
    if let caret, caret.row < size.rows, caret.column < size.columns {
      output += "\u{1B}[\(caret.row + 1);\(caret.column + 1)H\u{1B}[?25h"
    }
    _ = StandardStreams.write(Array(output.utf8), to: STDOUT_FILENO)
  }

  /// Gives the terminal back. Further calls do nothing.
  public func close() {
    for source in signals { source.cancel() }
    signals = []
    reader.stop()
    TerminalMode.giveBack()
  }
}

/// Reads what the terminal sends on a thread of its own, and finds the keys in it.
private final class KeyReader: Sendable {
  private static let pauseMilliseconds: Int32 = 50
  private let isStopped = Protected(false)

  init(_ handler: @escaping @Sendable (FullScreen.Event) -> Void) {
    let isStopped = isStopped
    DispatchQueue(label: "bindbus.keys").async { KeyReader.run(isStopped, handler) }
  }

  func stop() { isStopped.withLock { $0 = true } }

  private static func run(_ isStopped: Protected<Bool>, _ handler: @Sendable (FullScreen.Event) -> Void) {
    var parser = KeyParser()
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while !isStopped.withLock({ $0 }) {
      var waiting = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      let ready = poll(&waiting, 1, pauseMilliseconds)
      if ready == 0 {
        for key in parser.finish() { handler(.key(key)) }
        continue
      }
      guard ready > 0 else { continue }
      let count = buffer.withUnsafeMutableBytes { read(STDIN_FILENO, $0.baseAddress, $0.count) }
      if count > 0 {
        for key in parser.take(Array(buffer[..<count])) { handler(.key(key)) }
      } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
        return handler(.ended)
      }
    }
  }
}
