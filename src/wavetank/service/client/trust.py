"""Why a service was not trusted, out of the error of TLS: in words that say what to do."""

from __future__ import annotations

import ssl

NOT_YET, EXPIRED, OTHER_NAME, OTHER_ADDRESS = 9, 10, 62, 64
"""X509_V_ERR_... of OpenSSL (x509_vfy.h), the same in all versions."""


def why_untrusted(error: BaseException, authority: str) -> str | None:
    """Why TLS with a service did not begin, a sentence; None where that is not what failed.

    Args:
        error: of the request; what it comes from is looked at too.
        authority: how whoever asks names the file of an authority, e.g. a variable.
    """
    found: BaseException | None = error
    while found is not None and not isinstance(found, ssl.SSLError):
        found = found.__cause__ or found.__context__
    if isinstance(found, ssl.SSLCertVerificationError):
        return _of_certificate(found, authority)
    if isinstance(found, ssl.SSLError):
        return (
            f"TLS does not begin there ({found.reason or found}). A service without a certificate is asked by http:// on its own machine, "
            "and on no other"
        )
    return None


def _of_certificate(error: ssl.SSLCertVerificationError, authority: str) -> str:
    told = error.verify_message.rstrip(".")
    if error.verify_code == EXPIRED:
        return "its certificate has expired: its administrator has to renew it"
    if error.verify_code == NOT_YET:
        return "its certificate is not valid yet: see that the clocks of both machines are right"
    if error.verify_code in (OTHER_NAME, OTHER_ADDRESS):
        return f"its certificate is another one's ({told}): ask at a name or an address that the certificate has"
    return f"no authority that is trusted here signed its certificate ({told}): {authority} names the file of the one that did"
