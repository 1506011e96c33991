import BindingModel
import Foundation
import Testing

@Suite("Foundation formats as mappings")
struct FormatTests {
  @Test("a format shows a number and reads it back", arguments: [(1234.5, "1,234.50"), (0, "0.00"), (-3.256, "-3.26")])
  func numbers(number: Double, text: String) throws {
    let price = Formatted(
      FloatingPointFormatStyle<Double>(locale: Locale(identifier: "en_US")).precision(.fractionLength(2)))
    #expect(price.forward(number) == text)
    #expect(abs(try price.back(text) - number) < 0.005)
  }

  @Test("a format that cannot read the input says so and changes nothing")
  func refusals() {
    let price = Observable(1.5)
    let style = FloatingPointFormatStyle<Double>(locale: Locale(identifier: "en_US"))
    let text = price.binding.map(Formatted(style))
    let error = #expect(throws: BindingError.self) { try text.set("much") }
    #expect(error?.reason == .unmappable)
    #expect(error?.message == "\"much\" is not a valid Double in this format")
    #expect(price.value == 1.5)
  }

  @Test("a format style and its parse strategy make one mapping")
  func twoFormats() throws {
    let style = FloatingPointFormatStyle<Double>.Percent(locale: Locale(identifier: "en_US"))
    let percent = Formatted(style, parse: style.parseStrategy)
    #expect(percent.forward(0.25) == "25%")
    #expect(try percent.back("50%") == 0.5)
  }

  @Test("dates are shown as ISO 8601 in UTC")
  func moments() {
    let moment = Date(timeIntervalSince1970: 1_795_246_200)
    #expect(DateText().forward(moment) == "2026-11-21T07:30:00Z")
  }

  @Test(
    "dates are read from days, fractions of seconds, other time zones and surrounding blanks",
    arguments: [
      ("2026-11-21T07:30:00Z", 1_795_246_200), (" 2026-11-21T07:30:00Z\n", 1_795_246_200),
      ("2026-11-21T09:30:00+02:00", 1_795_246_200), ("2026-11-21T07:30:00.250Z", 1_795_246_200.25),
      ("2026-11-21", 1_795_219_200), ("1969-12-31T23:59:59Z", -1),
    ])
  func reading(text: String, seconds: Double) throws {
    #expect(try DateText().back(text).timeIntervalSince1970 == seconds)
  }

  @Test(
    "text that is not a date is refused",
    arguments: [
      "", "soon", "2026-13-01", "2026-11-21T", "21.11.2026", "2026-02-30", "2026-11-21T07:30:00",
      "2026-11-21T07:30:00Zx", "2026-11-21T07:30:60Z", "2026-11-21T25:00:00Z",
    ])
  func nonsense(text: String) {
    #expect(throws: BindingError.self) { try DateText().back(text) }
  }

  @Test(
    "a date round-trips through its text", arguments: [-62_000_000_000, -1, 0, 1, 1_795_246_200, 40_000_000_000])
  func roundTrips(seconds: Double) throws {
    let shown = DateText().forward(Date(timeIntervalSince1970: seconds))
    #expect(try DateText().back(shown).timeIntervalSince1970 == seconds)
  }
}
