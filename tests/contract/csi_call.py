"""A call of the Container Storage Interface, made in a node: csi_call.py SOCKET SERVICE CALL FIELDS, prints the answer as JSON."""

from __future__ import annotations

import json
import sys

import grpc
from google.protobuf import json_format

from wavetank.service.csi.messages import MESSAGES, PACKAGE


def main() -> None:
    socket, service, call, fields = sys.argv[1:]
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        grpc.channel_ready_future(channel).result()
        of_it = channel.unary_unary(
            f"/{PACKAGE}.{service}/{call}",
            request_serializer=MESSAGES[f"{call}Request"].SerializeToString,
            response_deserializer=MESSAGES[f"{call}Response"].FromString,
        )
        asked = json_format.ParseDict(json.loads(fields), MESSAGES[f"{call}Request"]())
        print(json.dumps(json_format.MessageToDict(of_it(asked))))


if __name__ == "__main__":
    main()
