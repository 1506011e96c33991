import BindingHub
import BindingKeys
import BindingProtocol
import ZeroMQ

/// Texts that people and programs write: values, rights, members, invitations.
extension FuzzTarget {
  static let json = FuzzTarget(
    name: "json",
    seeds: {
      [
        #"{"a":[1,-2.5e3,"ü\u00e9\ud83d\ude00",null,true],"a":{"$int":"9223372036854775807"}}"#,
        #"{"$float":"NaN"}"#, #"{"$bytes":"AAEC/w=="}"#, "1e400", "-0", "[[[[]]]]", "184467440737095516160.5",
        #"{"fields":{"level":{"type":"number","minimum":0,"maximum":1,"step":0.1},"hue":{"type":"choice","#
          + #""choices":["red","blue"]},"name":{"type":"string","maxLength":4}}}"#,
        "[1,2]\n[2,3]", "3\n4", #"{"$int":"18446744073709551615"}"# + "\n1",
      ].map { Array($0.utf8) }
    }, run: { bytes in jsonFinding(bytes) })

  private static func jsonFinding(_ bytes: UnsafeRawBufferPointer) -> String? {
    let parsed = try? JSON(parsing: bytes)
    guard (parsed != nil) == JSON.isValid(bytes) else { return "parser and scanner differ about what is JSON" }
    if let parsed {
      guard (try? JSON(parsing: parsed.bytes))?.bytes == parsed.bytes else { return "written JSON is read otherwise" }
      let value = FieldValue(bytes)
      guard value.isSame(as: value) else { return "a value is not equal to itself" }
      _ = JSON.members(ofText: Array(bytes))
      if (try? ModelRules(describedBy: bytes)) != nil {
        guard DescriptionMerge.differences(of: value, from: value).isEmpty else {
          return "a description differs from itself"
        }
        // Faulty aliases are found before anything is merged.
        guard let merge = DescriptionMerge(of: value, into: value), !merge.isChange, merge.merged == value else {
          return "a description is changed by its own share"
        }
      }
    } else {
      _ = FieldValue(bytes).fault
      guard JSON.fault(in: bytes) != nil else { return "a fault is not described" }
    }
    // Two values: what is merged, and into what.
    let halves = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    let (operand, current) = (FieldValue(bytes: Array(halves[0])), FieldValue(bytes: Array(halves[1])))
    guard operand.isValid, current.isValid else { return nil }
    guard operand.isSame(as: current) == current.isSame(as: operand) else { return "equality depends on the order" }
    for verb in [Verb.add, .max, .min, .union] {
      guard let result = Merge.apply(verb, operand: operand, to: current) else {
        guard !Merge.violation(verb, operand: operand, to: current).isEmpty else { return "\(verb): no reason" }
        continue
      }
      guard result.isValid else { return "\(verb) makes what is not JSON" }
      // A merge that is applied twice changes nothing the second time.
      guard verb == .add || Merge.apply(verb, operand: operand, to: result) == result else {
        return "\(verb) changes its own result"
      }
    }
    return nil
  }

  static let accessFile = FuzzTarget(
    name: "access-file",
    seeds: {
      [
        """
        {"bindbus": "access", "version": 1, "roles": {"staff": {"read": ["*"], "write": ["shop/*", "lamp.l*"],
        "fanout": true, "admin": true, "recover": false}, "guest": {"own": ["a/*"], "present": ["*b*"],
        "describe": ["lamp"], "delete": ["lamp.*"]}}, "members": {"anna": ["staff"], "uid:7": ["guest", "staff"],
        "*": ["guest"]}}
        """
      ].map { Array($0.utf8) }
    },
    run: { bytes in
      do throws(AccessFileError) {
        let policy = try AccessFile(String(decoding: bytes, as: UTF8.self)).policy
        for user in [HubPrincipal.named("anna", role: "staff"), .named("uid:7", role: nil), .owner(name: "uid:0")] {
          let rights = policy.rights(of: user)
          _ = rights.words
          for model in ["lamp", "shop/till", "a/b/c"] {
            guard rights.mayRead(model) || rights.rights(on: model).write != .all else { return "writes unread" }
            if policy.isPublished(model) != policy.rolesThatPreventPublishing(model).isEmpty {
              return "\(model) is published although a role prevents it, or not although none does"
            }
          }
        }
        return nil
      } catch {
        return error.description.isEmpty ? "a refusal says nothing" : nil
      }
    })

  static let membersFile = FuzzTarget(
    name: "members-file",
    seeds: {
      let key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsToSlj]M=eP"
      let other = "A2o6IFycn+)V5@:9LQo9(3:>^Mys.7YUh*#Mrn]8"
      let lines = [
        #"{"bindbus":"members","version":1}"#,
        #"{"t":1000,"e":"invite","id":"i1","name":"anna","key":"\#(key)","until":2000,"role":"staff"}"#,
        #"{"t":1001,"e":"admit","name":"anna","key":"\#(other)","label":"laptop","invitation":"i1","role":"staff"}"#,
        #"{"t":1002,"e":"kick","name":"uid:7","until":3000}"#, #"{"t":1003,"e":"readmit","name":"uid:7"}"#,
        #"{"t":1004,"e":"revoke-key","key":"\#(other)"}"#, #"{"t":1005,"e":"withdraw","id":"i1"}"#,
      ]
      return [Array((lines.joined(separator: "\n") + "\n").utf8), Array(#"{"t":1,"e":"revoke","name":"anna"}"#.utf8)]
    }, run: { bytes in membersFinding(bytes) })

  private static func membersFinding(_ bytes: UnsafeRawBufferPointer) -> String? {
    var members = Members()
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let json = try? JSON(parsing: UnsafeRawBufferPointer(rebasing: line)), let record = MemberRecord(json)
      else { continue }
      guard MemberRecord(record.json) == record else { return "a record is written otherwise than it was read" }
      let before = members
      do throws(MemberError) { try members.apply(record) } catch {
        guard !error.description.isEmpty, members == before else { return "a refused record changes something" }
      }
    }
    for (key, detail) in members.keys {
      guard members.standing(of: key, at: 1_500) == .member(name: detail.name) else { return "a member is unknown" }
    }
    for (id, invitation) in members.invitations where invitation.usedBy == nil {
      _ = try? members.enrolment(of: invitation.oneTimeKey, label: "", by: id, at: 1_500)
    }
    _ = members.kicks.values.filter { $0.counts(at: 1_500) }
    return nil
  }

  static let invitation = FuzzTarget(
    name: "invitation",
    seeds: {
      guard let pair = try? KeyPair.random(), let address = try? HubAddress("tcp://192.0.2.1:7877") else { return [] }
      let line = Invitation(
        hub: "shop", member: "anna", addresses: [address], hubKey: pair.publicKey, secret: pair.secretKey, until: 2_000
      ).line
      let bytes = Array(line.utf8)
      // The content too, because no fuzzer finds a checksum by itself.
      let content = Base64.decode(base64(line.dropFirst("bindbus1:".count))) ?? []
      return [bytes, [0] + content.dropLast(4), [0x0F] + Enrolment(key: pair.publicKey, label: "laptop").frame]
    },
    run: { bytes in
      guard let first = bytes.first else { return nil }
      let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      // An enrolment, content without its checksum, or a line.
      if first == 0x0F {
        _ = try? Enrolment(frame: rest)
        _ = try? Enrolment.Answer(frame: rest)
        return nil
      }
      var line = String(decoding: bytes, as: UTF8.self)
      if first == 0 {
        var content = Array(rest)
        let checksum = rest.count == 0 ? 0 : Checksum.crc32c(rest)
        for byte in 0..<4 as Range<UInt32> { content.append(UInt8(truncatingIfNeeded: checksum >> (8 * byte))) }
        line = "bindbus1:" + Base64.encode(content)
      }
      guard let read = try? Invitation(line: line) else { return nil }
      return (try? Invitation(line: read.line)) == read ? nil : "an invitation is written otherwise than it was read"
    })

  /// The letters of base64 in place of those of base64url, with padding.
  private static func base64(_ text: Substring) -> String {
    let letters = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    return letters + String(repeating: "=", count: (4 - letters.count % 4) % 4)
  }
}
