"""Codes by which hosts name their failures, and the HTTP status that each amounts to.

Collected like the words of `failure_words`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["MINIMAX", "status_of_code", "status_of_codes"]

CODES: dict[int, str] = {
    400: "invalidrequesterror invalidargument badrequest validationexception failedprecondition outofrange"
    " invalidparameter badrequesterror invalidrequest unprocessableentityerror unprocessableentity"
    " invalidparametererror unsupportedparameter unsupportedvalue unknownparameter",
    401: "authenticationerror unauthenticated unauthorized invalidapikey apikeyinvalid invalidauthentication"
    " invalidauthenticationerror incorrectapikeyerror unrecognizedclientexception expiredtokenexception",
    402: "billingerror paymentrequired arrearage accountoverdueerror billinghardlimitreached billingnotactive"
    " budgetexceeded setlimitexceeded creditlimit"
    " resourcepackexhausted freeresourcepackexhausted postpaidnotenabled",
    403: "permissionerror permissiondenied forbidden accessdeniedexception permissiondeniederror"
    " accessdenied servicenotactivated",
    404: "notfounderror notfound modelnotfound resourcenotfoundexception resourcenotfounderror"
    " modelnotfounderror deploymentnotfound modelnotopen invalidmodel modeldecommissioned modelnotavailable"
    " invalidendpointormodel modelnotsupported unknownmodel dedicatedendpointnotrunning"
    " unknownoperationexception",
    408: "requesttimeout modeltimeoutexception",
    409: "conflict conflicterror aborted conflictexception",
    413: "requesttoolarge contextlengthexceeded contextwindowexceedederror exceedcontextsizeerror"
    " contentlengthlimit modelcontextwindowexceeded modelmaxprompttokensexceeded contextwindowexceeded"
    " tokenstoolong tokenslimitreached inputlengthexceeded",
    429: "ratelimiterror ratelimitexceeded ratelimit resourceexhausted throttlingexception throttling"
    " throttlingratequota toomanyrequests requestlimitexceeded ratelimitreachederror ratelimitreached"
    " tokensratelimitexceeded limitrequests throttlingallocationquota throttlingburstrate limitburstrate"
    " toomanyrequestsexception engineserverlimitexceeded",
    451: "safety contentblocked unsafecontent sensitivecontent contentmoderation",
    500: "apierror servererror internal internalerror internalservererror internalserverexception"
    " internalfailure modelerrorexception modelstreamerrorexception unknown unknownerror failed canceled"
    " cancelled functioninvocationfailed",
    501: "unimplemented notimplemented",
    502: "badgateway providererror",
    503: "unavailable serviceunavailable serviceunavailableexception serviceunavailableerror unavailableerror"
    " engineoverloadederror engineoverloaded modeloverloaded serverisoverloaded serveroverloaded busy"
    " insufficientsystemresource servicetiercapacityexceeded"
    " modelnotreadyexception capacityexceeded modelisovercapacity",
    504: "deadlineexceeded timeouterror gatewaytimeout timeout functioninvocationtimeout",
    529: "overloadederror overloaded",
}
"""The HTTP status of codes, types and statuses, which are written with letters alone."""

_STATUSES = {name: status for status, names in CODES.items() for name in names.split()}


MINIMAX: dict[str, int] = {
    **dict.fromkeys(("1000", "1013", "1024", "1033"), 500),
    **dict.fromkeys(("1002", "1039", "1041", "2045"), 429),
    **dict.fromkeys(("1004", "2049"), 401),
    **{"1001": 408, "1008": 402, "2013": 400, "2056": 402},
}
"""The HTTP status of each number in MiniMax's `base_resp`."""


def status_of_code(code: str) -> int:
    """The status of a host's code, 0 if unknown. The name of a package before it is ignored."""
    for part in (code, code.rpartition(".")[2]):
        if status := _STATUSES.get(re.sub(r"[^a-z]", "", part.lower())):
            return status
    return 0


def status_of_codes(codes: Iterable[str]) -> int:
    """The most telling status of several codes of one failure, 0 if none is known."""
    found = [status for code in codes if (status := status_of_code(code))]
    return next((status for status in found if status not in (400, 500)), found[0] if found else 0)
