import BindingModel
import Testing

@Suite("standard mappings")
struct MappingsTests {
  @Test("NumberText reads a number with or without blanks and refuses other text with a message")
  func numbers() throws {
    let count = Observable(7)
    let text = count.binding.map(NumberText())
    #expect(text.value == "7")
    try text.set(" 42 ")
    #expect(count.value == 42)
    #expect(throws: BindingError(.unmappable, "\"x\" is not a valid Int")) { try text.set("x") }
    #expect(count.value == 42)
  }

  @Test("BooleanText maps a truth value to one of two words")
  func booleans() throws {
    let isOn = Observable(true)
    let word = isOn.binding.map(BooleanText("on", "off"))
    #expect(word.value == "on")
    try word.set("OFF ")
    #expect(isOn.value == false)
    #expect(throws: BindingError.self) { try word.set("maybe") }
  }

  @Test("Opposite negates in both directions")
  func opposite() throws {
    let isHidden = Observable(false)
    let isShown = isHidden.binding.map(Opposite())
    #expect(isShown.value)
    try isShown.set(false)
    #expect(isHidden.value)
  }

  @Test("Trimmed keeps surrounding blanks out of the model")
  func trimmed() throws {
    let name = Observable("desk")
    try name.binding.map(Trimmed()).set("  lamp\n")
    #expect(name.value == "lamp")
  }

  @Test(
    "Scaled maps both ends of a range exactly and stays within them",
    arguments: [(0.0, 0.0), (1.0, 100.0), (0.25, 25.0), (-1.0, 0.0), (2.0, 100.0)])
  func scaled(_ level: Double, _ slider: Double) {
    let mapping = Scaled(0...1, to: 0...100)
    #expect(mapping.forward(level) == slider)
    #expect(mapping.back(slider) == min(max(level, 0), 1))
  }

  @Test("Scaled maps a range without width to its end")
  func noWidth() {
    let mapping = Scaled(5...5, to: 0...100)
    #expect(mapping.forward(5) == 0 && mapping.back(70) == 5)
  }

  @Test("Placeholder shows a missing value as the placeholder, and reads the placeholder as missing")
  func placeholder() throws {
    let nick = Observable<String?>(nil)
    let shown = nick.binding.map(Placeholder("none"))
    #expect(shown.value == "none")
    try shown.set("Al")
    #expect(nick.value == "Al")
    try shown.set("none")
    #expect(nick.value == nil)
  }

  @Test("chained mappings refuse what one of them refuses")
  func chained() throws {
    let years = Observable<Int?>(nil)
    let text = years.binding.map(Placeholder(0).then(NumberText()))
    #expect(text.value == "0")
    try text.set("12")
    #expect(years.value == 12)
    #expect(throws: BindingError.self) { try text.set("twelve") }
  }

  @Test("Conversion makes a mapping of two functions")
  func functions() throws {
    let cents = Observable(250)
    let euros = cents.binding.map(Conversion<Int, Double>(forward: { Double($0) / 100 }, back: { Int($0 * 100) }))
    #expect(euros.value == 2.5)
    try euros.set(3)
    #expect(cents.value == 300)
  }

  @Test("a two-way link through a mapping that does not round-trip settles after one correction")
  func settles() {
    let (level, field) = (Observable(0.5), Observable("?"))
    let token = field.binding.bind(to: level.binding.map(NumberText<Double>()))
    #expect(field.value == "0.5")
    field.value = "0.250"
    #expect(level.value == 0.25)
    #expect(field.value == "0.25")
    withExtendedLifetime(token) {}
  }
}

@Suite("mappings for user input")
struct CheckedMappingsTests {
  enum Mood: CaseIterable, Equatable { case calm, glad, wild }

  @Test("mappings refuse empty text, values out of range and unknown choices with a message")
  func refusals() {
    #expect(throws: BindingError(.unmappable, "a name, please")) { try Required("a name, please").back(" ") }
    #expect(throws: BindingError(.unmappable, "12 is not between 0 and 10")) { try Within(0...10).back(12) }
    #expect(throws: BindingError.self) { try Within(0...1).back(Double.nan) }
    #expect(throws: BindingError(.unmappable, "there is no choice 3 of 3")) { try CaseIndex<Mood>().back(3) }
    #expect(throws: BindingError.self) { try Rounded<Int8, Double>().back(200) }
    #expect(throws: BindingError.self) { try Rounded<Int8, Double>().back(.nan) }
  }

  @Test("mappings for user input convert in both directions")
  func both() throws {
    #expect(try Within(0...10).then(NumberText()).back(" 7 ") == 7)
    #expect(Precision<Double, Float>().forward(0.5) == 0.5)
    #expect(Precision<Double, Float>().back(0.25) == 0.25)
    #expect(try Rounded<Int, Float>().back(2.6) == 3)
    #expect(CaseIndex<Mood>().forward(.wild) == 2)
    #expect(try CaseIndex<Mood>().back(1) == .glad)
    #expect(try Required().back("a ") == "a ")
  }

  @Test("a mapping made of functions may throw any error")
  func conversion() {
    struct Odd: Error, CustomStringConvertible { var description: String { "odd" } }
    let half = Conversion<Int, Int>(
      forward: { $0 * 2 },
      back: { number in
        guard number % 2 == 0 else { throw Odd() }
        guard number < 100 else { throw BindingError(.refused, "too much") }
        return number / 2
      })
    #expect(throws: BindingError(.unmappable, "odd")) { try half.back(3) }
    #expect(throws: BindingError(.refused, "too much")) { try half.back(100) }
  }
}
