#if canImport(FoundationEssentials)
  public import FoundationEssentials
#elseif canImport(Foundation)
  public import Foundation
#endif

#if canImport(FoundationEssentials) || canImport(Foundation)
  /// A value in a Foundation format: `field.bind(to: price, map: Formatted(.number.precision(.fractionLength(2))))`.
  ///
  /// Text that the format cannot parse is refused with a message.
  public struct Formatted<Style: FormatStyle & Sendable, Strategy: ParseStrategy & Sendable>: Mapping
  where Strategy.ParseInput == Style.FormatOutput, Strategy.ParseOutput == Style.FormatInput {
    private let style: Style
    private let strategy: Strategy

    /// Creates a mapping from a format and a parse strategy.
    ///
    /// - Parameters:
    ///   - style: formats a value to be shown.
    ///   - strategy: parses what was entered.
    public init(_ style: Style, parse strategy: Strategy) {
      self.style = style
      self.strategy = strategy
    }

    /// Creates a mapping from a format that can also parse.
    public init(_ style: Style) where Style: ParseableFormatStyle, Style.Strategy == Strategy {
      self.init(style, parse: style.parseStrategy)
    }

    public func forward(_ source: Style.FormatInput) -> Style.FormatOutput { style.format(source) }

    /// Returns the parsed value, or throws `.unmappable` if the format cannot parse it.
    public func back(_ target: Style.FormatOutput) throws(BindingError) -> Style.FormatInput {
      do {
        return try strategy.parse(target)
      } catch {
        throw BindingError(.unmappable, "\"\(target)\" is not a valid \(Style.FormatInput.self) in this format")
      }
    }
  }

  /// A date as ISO 8601 text in UTC: `2026-11-21T07:30:00Z`. A day alone (`2026-11-21`) stands for its beginning.
  public struct DateText: Mapping {
    private typealias Style = Date.ISO8601FormatStyle

    /// Creates a mapping between a date and ISO 8601 text.
    public init() {}

    public func forward(_ source: Date) -> String { source.formatted(.iso8601) }

    /// Returns the date, or throws `.unmappable` if the text is not a date of the calendar in ISO 8601.
    public func back(_ target: String) throws(BindingError) -> Date {
      let text = target.trimmed
      let moment = text.count == 10 ? text + "T00:00:00Z" : text
      let fractions = Style(includingFractionalSeconds: true)
      guard isOnTheCalendar(moment), let last = moment.last, last == "Z" || last.isNumber,
        let date = (try? Style.iso8601.parse(moment)) ?? (try? fractions.parse(moment))
      else { throw BindingError(.unmappable, "\"\(target)\" is not a date such as 2026-11-21 or 2026-11-21T07:30:00Z") }
      return date
    }

    /// Foundation reads 25 o'clock as 1 o'clock of the next day, which the person who typed it did not mean.
    private func isOnTheCalendar(_ moment: String) -> Bool {
      let clock = moment.prefix(19) + "Z"
      return (try? Style.iso8601.parse(String(clock)))?.formatted(.iso8601) == String(clock)
    }
  }
#endif
