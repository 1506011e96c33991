import BindingProtocol
import Foundation

extension FieldCodec where Value: Codable {
  /// The codec of any `Codable` type, through Foundation's JSON coders. Members are sorted by name, so that equal
  /// values have equal bytes.
  public static var codable: FieldCodec {
    FieldCodec(type: .any) { value throws(FieldError) in
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      do {
        return FieldValue(bytes: [UInt8](try encoder.encode(value)))
      } catch {
        throw .notEncodable(field: "\(Value.self)", problem: "\(error)")
      }
    } decode: { value in
      try? JSONDecoder().decode(Value.self, from: Data(value.bytes))
    }
  }
}
